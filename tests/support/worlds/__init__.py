"""ACLs, histories and messages that hypothesis makes up, and the spec that decides about them."""
