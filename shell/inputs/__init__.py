"""Reads a verb's input: SOURCE, files, questions and others."""
