"""The history of ACLs and configuration in an archive."""
