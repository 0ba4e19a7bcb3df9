"""Authenticates clients by SASL or by a certificate."""
