"""The text of answers."""
