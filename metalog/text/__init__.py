"""Text for people, and from people: plural forms, visible characters, whole numbers."""
