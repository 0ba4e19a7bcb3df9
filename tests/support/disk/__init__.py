"""Logs and folders: written by hand, in memory, on a crashing disk, by a killed process."""
