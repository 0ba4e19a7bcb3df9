"""Declares the messages that the library kio does not declare, in the same way as kio."""
