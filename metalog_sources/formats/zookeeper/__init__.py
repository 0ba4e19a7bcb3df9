"""ACLs and users as ZooKeeper holds them."""
