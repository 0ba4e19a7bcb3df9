"""ACLs, histories and messages that hypothesis generates, and the spec that decides about them."""
