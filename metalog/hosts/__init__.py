"""Hosts as texts: the host of a client, and the host of an ACL that is a CIDR block."""
