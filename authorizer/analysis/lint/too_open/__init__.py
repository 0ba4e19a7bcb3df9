"""Checks of ACLs that grant more than they seem to."""
