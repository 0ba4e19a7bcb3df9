"""Scripts with which a shell completes the command, a module a shell."""
