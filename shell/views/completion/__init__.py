"""Scripts with which a shell completes the command, one module for each shell."""
