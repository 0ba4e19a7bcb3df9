"""A log and its replay on threads of their own."""
