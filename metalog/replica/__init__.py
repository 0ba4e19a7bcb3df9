"""A log and its replay on their own threads."""
