"""A metadata log in files, read: one folder, one file, or several folders of one quorum."""
