"""Decides requests as of their own time: the job, the worker, and the invalidation of old
decisions."""
