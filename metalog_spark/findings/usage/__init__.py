"""The use of ACLs: counted, classified, and covered by fewer ACLs."""
