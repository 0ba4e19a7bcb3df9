"""The verbs that show what a source holds."""
