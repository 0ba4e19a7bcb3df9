"""The node's publishers: credentials, cached listings, waiting observers."""
