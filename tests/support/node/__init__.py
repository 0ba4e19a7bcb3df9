"""Nodes in this process or in their own, beside a real Kafka, and helpers that query and measure
them."""
