"""Follows a cluster: decides requests as their audit lines arrive, and raises each alert exactly
once."""
