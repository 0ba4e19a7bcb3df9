"""YAML and JSON that people write, as nodes that know where they stand, and ACLs of nodes."""
