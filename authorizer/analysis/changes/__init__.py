"""Changes of ACLs, the decisions that they change, and those that Kafka's version changes."""
