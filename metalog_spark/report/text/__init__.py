"""The report's texts: numbers, times, ACLs and requests as words. Pure."""
