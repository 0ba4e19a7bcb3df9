"""Where each new image goes: credentials, cached listings, observers of the log."""
