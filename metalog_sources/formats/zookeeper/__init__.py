"""The formats of ACLs and users in ZooKeeper."""
