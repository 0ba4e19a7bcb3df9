"""Functions that compute tables of findings from a pipeline's tables.

Every table of findings has the columns ``severity`` and ``remedy``. An import does not start Spark.
"""
