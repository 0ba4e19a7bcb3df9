"""The pipeline: its Spark session, small folders of tables, audit lines, and independent
computations of its results."""
