"""A node's configuration: Kafka's keys, checked before anything opens."""
