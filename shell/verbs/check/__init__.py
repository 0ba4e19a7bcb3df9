"""The verbs that judge ACLs, and change nothing."""
