"""Reads audit logs and tables of requests into rows."""
