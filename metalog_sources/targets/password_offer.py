"""Whether a TARGET accepts passwords, and salts them itself. This module must not know a target."""

from enum import Enum


class PasswordOffer(Enum):
    NONE = 0
    NOT_ENCRYPTED = 1
    """The TARGET accepts passwords, but not over this connection."""
    TAKEN = 2
