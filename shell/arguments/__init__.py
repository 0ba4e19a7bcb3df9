"""Reads the arguments of a verb."""
