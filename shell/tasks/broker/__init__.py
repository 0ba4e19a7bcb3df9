"""The configuration of the deciding broker, and the folders of a node."""
