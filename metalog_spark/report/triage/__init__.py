"""Findings by their owners, accepted findings, and changes since an earlier report."""
