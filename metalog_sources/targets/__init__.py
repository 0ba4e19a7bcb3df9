"""Plans, and the targets to which they are applied."""
