"""Authenticates clients: SASL, certificate names, dummy credentials."""
