"""Nodes: in this process or their own, beside a real Kafka, and what asks and measures them."""
