"""The time window of a finding: its coverage, its requests and their questions."""
