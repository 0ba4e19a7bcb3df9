"""The caches of decisions: one session's, all sessions', and their invalidation."""
