"""A made-up year of a small company: its metadata log and its brokers' audit logs.

The output depends only on the seed, the number of requests and the days. Nothing here knows Spark.
"""
