"""Caches decisions, for one session and for all sessions, and invalidates them."""
