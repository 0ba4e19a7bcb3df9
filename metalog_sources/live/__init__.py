"""Live stores and logs: a cluster, ZooKeeper, a log that is still written."""
