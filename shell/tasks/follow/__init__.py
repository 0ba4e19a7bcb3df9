"""Tasks that run until they are stopped: a log's changes, the pipeline's alerts and metrics."""
