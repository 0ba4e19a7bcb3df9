"""Targets: where ACLs can be written to, plans, and how they are applied."""
