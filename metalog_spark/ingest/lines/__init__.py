"""Parses lines of audit logs, and finds half lines by the form of other lines."""
