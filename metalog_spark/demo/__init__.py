"""A made-up year of a small company: its metadata log and its brokers' audit logs.

The output depends only on the seed. Only the last step writes files. Nothing here knows Spark.
"""
