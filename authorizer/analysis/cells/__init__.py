"""Proves claims about all requests: divides them into cells, and decides a request of each cell."""
