"""The index of ACLs, and how it decides."""
