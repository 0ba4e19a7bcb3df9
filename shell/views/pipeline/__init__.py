"""Prints the results of ``metalog pipeline``: summaries, findings, alerts."""
