"""Reads a verb's input: SOURCE, files and questions."""
