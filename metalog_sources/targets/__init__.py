"""Where ACLs can be written to: a plan, and how it is applied."""
