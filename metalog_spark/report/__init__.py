"""The report: one HTML file that needs nothing else, of what a pipeline's tables say."""
