"""Replaces hypothesis in processes that tests start, since users run without it.

If hypothesis is installed, kio imports it and takes twice as long to import.
"""

raise ImportError("users of this package need not have hypothesis")
