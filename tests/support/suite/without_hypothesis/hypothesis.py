"""Stands for hypothesis in processes that tests start, which users run without it.

kio imports hypothesis where it is installed, and then takes twice as long to import.
"""

raise ImportError("users of this package need not have hypothesis")
