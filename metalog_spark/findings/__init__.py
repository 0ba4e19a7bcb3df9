"""Findings: functions that compute a table from a pipeline's tables.

Every finding has a ``severity`` and a ``remedy``. Modules that know no Spark compute it from few
rows; these functions apply them to the data. Importing this package starts nothing.
"""
