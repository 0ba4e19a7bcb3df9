"""Checks of needless and unusual ACLs."""
