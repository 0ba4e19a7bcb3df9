"""Writes answers: text, JSON, CSV, reports for CI servers, progress."""
