"""The node's publishers: for credentials, for cached listings, and for waiting observers."""
