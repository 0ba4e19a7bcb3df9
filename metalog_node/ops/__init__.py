"""What operators see: metrics, probes and their HTTP endpoint."""
