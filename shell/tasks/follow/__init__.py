"""What goes on until it is stopped: a log's changes, the pipeline's alerts and figures."""
