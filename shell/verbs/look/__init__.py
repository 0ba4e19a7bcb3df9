"""The verbs that show the content of a source."""
