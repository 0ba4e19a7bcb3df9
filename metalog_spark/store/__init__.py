"""The folder of tables: its commit log, its plain view, export and SQL views."""
