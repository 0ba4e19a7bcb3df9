"""Pages of docs and the README that are made from the code, or compared with it."""
