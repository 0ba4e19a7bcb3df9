"""The text of an answer."""
