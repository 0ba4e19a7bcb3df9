"""The verbs that check ACLs, and change nothing."""
