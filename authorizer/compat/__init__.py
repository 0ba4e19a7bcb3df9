"""Interfaces of older Kafkas: KIP-11's authorizer, and by a door of its own its early draft."""
