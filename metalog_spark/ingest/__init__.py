"""Reads logs and audit lines into rows: splits, readers, line forms, the data source."""
