"""Proves claims about ACLs: divides requests into cells, and decides one request of each cell."""
