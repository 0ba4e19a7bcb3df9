"""A made-up year of a small company: its metadata log and its brokers' audit logs.

Pure until it writes files at its end, and deterministic for a seed. Nothing here knows Spark.
"""
