"""Writes answers as text."""
