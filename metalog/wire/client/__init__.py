"""The client's side of a connection to Kafka."""
