"""The coverage of brokers' logs, and the number of equal requests."""
