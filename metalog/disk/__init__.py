"""The disk: the port `Files`, through which files are read and written, and file locks."""
