"""The verbs that write."""
