"""Counts and classifies the uses of ACLs, and finds the fewest ACLs that allow these uses."""
