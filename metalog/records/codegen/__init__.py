"""The generator of ``records/messages``."""
