"""Counts and classifies the uses of ACLs, and finds a small set of ACLs that allows them."""
