"""Writes numbers, times, ACLs and requests as words."""
