"""Messages that kio does not declare, declared as kio declares Kafka's."""
