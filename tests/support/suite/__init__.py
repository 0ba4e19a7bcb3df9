"""The test suite itself: what it tests, in which order, and what no test may do."""
