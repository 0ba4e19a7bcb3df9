"""Findings: functions that compute a table from a pipeline's tables.

Every finding has a ``severity`` and a ``remedy``. The computation is plain Python over few rows,
in modules that know no Spark; these functions run it on the data. Importing this package starts
nothing.
"""
