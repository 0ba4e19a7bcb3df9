"""The pipeline: its session, small folders of tables, audit lines, other ways to its results."""
