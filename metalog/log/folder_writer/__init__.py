"""The only writer of a metadata log in a folder."""
