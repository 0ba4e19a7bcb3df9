"""Finds changes of ACLs, and decisions that change with the ACLs or with the Kafka version."""
