"""Kafka's audit line: written, read, and the log layouts around it."""
