"""Cells of requests: what ACLs can tell apart, so that one question for each cell is a proof."""
