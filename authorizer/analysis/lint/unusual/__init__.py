"""Checks of ACLs that nobody needs, or that hardly anybody wants."""
