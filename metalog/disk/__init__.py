"""The disk: file locks, and the port `Files`, through which files are read and written."""
