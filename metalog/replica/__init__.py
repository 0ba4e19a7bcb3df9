"""Follows a log on its own thread, replays it, and writes it if this node leads."""
