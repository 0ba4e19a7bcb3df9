"""Listeners, connections, TLS and connection quotas."""
