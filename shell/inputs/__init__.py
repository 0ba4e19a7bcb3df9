"""Reads the input that a verb's arguments name: SOURCE, files, questions and others."""
