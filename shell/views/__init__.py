"""Writes answers, as text and JSON."""
