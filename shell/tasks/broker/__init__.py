"""The configuration of the deciding broker: from files, from a SOURCE, and from audit lines."""
