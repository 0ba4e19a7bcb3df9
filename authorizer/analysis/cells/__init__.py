"""Proves claims about ACLs: divides all requests into cells, and decides one of each cell."""
