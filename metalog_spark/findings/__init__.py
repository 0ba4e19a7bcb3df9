"""Findings: functions from a pipeline's tables to a table.

Every finding has a ``severity`` and a ``remedy``. What it works out is plain Python over few
rows, in modules that know no Spark; the functions move it to the data. Importing this package
starts nothing.
"""
