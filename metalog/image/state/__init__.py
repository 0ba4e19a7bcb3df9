"""The state of a cluster: for each subject, a module with its image and its delta."""
