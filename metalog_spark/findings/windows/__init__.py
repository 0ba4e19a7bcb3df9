"""The window of time that a finding is about: its coverage, its requests and their questions."""
