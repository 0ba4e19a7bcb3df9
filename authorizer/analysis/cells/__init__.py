"""Proofs about ACLs: they divide all requests into cells, and one decision per cell is a proof."""
