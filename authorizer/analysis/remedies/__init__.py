"""Changes that reverse a decision, as commands, and the rights that they grant in addition."""
