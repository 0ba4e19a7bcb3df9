"""A metadata log in a Kafka topic."""
