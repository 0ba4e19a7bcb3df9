"""Changes that turn an answer, as commands, and what they give away."""
