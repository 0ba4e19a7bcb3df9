"""Writes and reads Kafka's audit line, and reads the log layouts around it."""
