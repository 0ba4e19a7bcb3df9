"""The data pipeline: years of a metadata log and of audit logs, on Spark.

Whatever decodes or decides is the code of ``metalog`` and ``authorizer``; this package only
moves it to the data. Importing it starts nothing and needs no Java.
"""
