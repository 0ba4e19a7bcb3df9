"""The report: one self-contained HTML file about a pipeline's tables."""
