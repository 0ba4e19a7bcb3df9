"""Live sources: a cluster, ZooKeeper, a log that is still written."""
