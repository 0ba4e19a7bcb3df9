"""The reason of an answer: near misses, unknown names, since when."""
