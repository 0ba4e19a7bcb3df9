"""The state of a cluster, a module for each subject: its image, and the delta that changes it."""
