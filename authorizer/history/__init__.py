"""The ACLs of a log at every offset, and one question's decision at every offset."""
