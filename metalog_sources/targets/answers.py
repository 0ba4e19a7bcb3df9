"""Answers of a TARGET that say more than yes or no. This module must not know any request."""

from __future__ import annotations

from enum import Enum

from metalog.errors import InvalidRequest


class PartlyDone(InvalidRequest):
    """A failed request made the number ``done`` of changes, or more if not ``is_exact``."""

    def __init__(self, message: str, done: int, *, is_exact: bool) -> None:
        super().__init__(message)
        self.done = done
        self.is_exact = is_exact


class PasswordOffer(Enum):
    """Whether a TARGET accepts the password itself (KIP-506), not only a salted password."""

    NONE = 0
    NOT_ENCRYPTED = 1
    """The TARGET accepts passwords, but not over this connection."""
    USABLE = 2
