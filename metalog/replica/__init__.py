"""Follows a log on a thread, replays the log, and writes the log if this node leads."""
