"""Reads YAML and JSON by people into nodes with positions, and the nodes into ACLs."""
