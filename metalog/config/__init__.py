"""Java's configuration files and the client settings in Kafka's keys."""
