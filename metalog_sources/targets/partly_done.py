"""The error of a request with several changes, some of which failed.

This module must not know what was to be changed.
"""

from __future__ import annotations

from metalog.errors import InvalidRequest


class PartlyDone(InvalidRequest):
    """``done`` changes of the request were made; perhaps more if ``is_exact`` is false."""

    def __init__(self, message: str, done: int, *, is_exact: bool) -> None:
        super().__init__(message)
        self.done = done
        self.is_exact = is_exact
