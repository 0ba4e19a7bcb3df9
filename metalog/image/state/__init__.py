"""The state of a cluster. Each module has one subject's image, and the delta for this image."""
