"""What an archive says of its ACLs and configuration over time."""
