"""Findings: functions that compute a table from a pipeline's tables.

Every finding has the columns ``severity`` and ``remedy``. Importing this package starts nothing.
"""
