"""Checks of ACLs that never do what they were written for."""
