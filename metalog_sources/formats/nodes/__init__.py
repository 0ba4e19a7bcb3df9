"""Reads YAML and JSON text into nodes with positions, and the nodes into ACLs."""
