"""Counts the coverage of brokers' logs, and equal requests."""
