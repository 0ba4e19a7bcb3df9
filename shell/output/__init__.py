"""Writes answers: text, JSON, CSV, reports of build servers, progress."""
