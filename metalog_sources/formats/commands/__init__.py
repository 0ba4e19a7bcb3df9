"""ACLs as commands of kafka-acls."""
