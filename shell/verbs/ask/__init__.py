"""The verbs that answer a question."""
