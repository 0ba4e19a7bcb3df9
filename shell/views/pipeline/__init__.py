"""What the verbs of ``metalog pipeline`` print: summaries, findings, alerts."""
