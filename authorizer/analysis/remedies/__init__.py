"""Finds changes of ACLs that reverse a decision, their commands, and their dangers."""
