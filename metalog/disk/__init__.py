"""The disk: the port `Files`, through which every byte is read or written, and file locks."""
