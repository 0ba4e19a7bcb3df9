"""Interfaces of older versions of Kafka: KIP-11's authorizer."""
