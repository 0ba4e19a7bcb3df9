"""The log of a live KRaft quorum, followed as an observer."""
