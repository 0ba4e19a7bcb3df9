"""Interfaces of older versions of Kafka: KIP-11's authorizer, and apart from it KIP-11's draft."""
