"""Decides requests as of their time: the job, the worker, what must be decided again."""
