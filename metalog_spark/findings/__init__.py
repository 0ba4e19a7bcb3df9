"""What an analyst asks of a pipeline's tables: each a function from tables to a table.

Every finding has a ``severity`` and a ``remedy``. What it works out is plain Python over few
rows, in modules that know no Spark; the functions move it to the data. Importing this package
starts nothing.
"""
