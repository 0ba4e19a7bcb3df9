"""Changes of ACLs, the decisions that they change, and those that a Kafka version changes."""
