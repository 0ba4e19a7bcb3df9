"""Changes of ACLs: what they are, what they turn, and what turns with the version of Kafka."""
