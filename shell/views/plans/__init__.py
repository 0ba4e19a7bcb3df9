"""How plans are shown: to a person, and to build servers."""
