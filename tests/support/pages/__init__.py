"""Pages of docs and the README that are generated from the code, or compared with it."""
