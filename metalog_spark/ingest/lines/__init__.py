"""Lines of audit logs: parses each, and finds half lines by the form of the others."""
