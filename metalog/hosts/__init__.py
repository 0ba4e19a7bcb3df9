"""Hosts as texts: HOST:PORT, the host of a client, and an ACL's host that is a CIDR block."""
