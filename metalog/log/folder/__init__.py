"""Reads a metadata log in files: one folder, one file, or several folders of one quorum."""
