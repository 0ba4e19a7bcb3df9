"""Declares the messages that kio does not declare, in the same way as kio."""
