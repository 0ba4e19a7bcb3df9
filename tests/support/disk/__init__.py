"""Logs and folders: made by hand, in memory, on a crashing disk, by a killed process."""
