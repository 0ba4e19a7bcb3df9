"""Follows a cluster: decides requests as their audit lines arrive, and raises alerts."""
