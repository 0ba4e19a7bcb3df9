"""People's decisions about findings: who owns them, and which are accepted or new."""
