"""Lists the operations and resources that each request of Kafka needs."""
