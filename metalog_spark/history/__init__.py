"""The history of ACLs and configuration in an archive, and a metadata log as a Spark source."""
