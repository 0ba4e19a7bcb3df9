"""Finds who may do what: by principal, by resource and by host."""
