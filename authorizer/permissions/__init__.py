"""Which request of Kafka needs which operation on which resource."""
