"""A year of a small company, made up: its metadata log and what its brokers logged.

Pure but for the files at its end, and the same for the same seed. Nothing here knows Spark.
"""
