"""The index of ACLs, and the decisions from it."""
