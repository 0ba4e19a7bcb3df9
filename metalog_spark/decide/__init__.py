"""Decides requests as of their time: the job, the worker, and the invalidation of old decisions."""
