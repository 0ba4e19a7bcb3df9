"""Reads YAML and JSON that people write into nodes with positions, and the nodes into ACLs."""
