"""The one writer of a metadata log in a folder."""
