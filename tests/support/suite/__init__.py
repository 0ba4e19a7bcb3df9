"""The suite itself: what is tested, in which order, and what no test may do."""
