"""Explains a decision: its reason, near misses, unknown names, and its age."""
