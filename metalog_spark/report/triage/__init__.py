"""What people decided about findings: whose they are, and which are accepted or new."""
