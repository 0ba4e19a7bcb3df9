"""Proofs about sets of ACLs: claims, equal meaning, and a smaller set with the same meaning."""
