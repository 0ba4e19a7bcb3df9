"""Whether a TARGET accepts passwords. This module must not know a target."""

from __future__ import annotations

from enum import Enum


class PasswordOffer(Enum):
    """Whether a TARGET salts passwords itself."""

    NONE = 0
    NOT_ENCRYPTED = 1
    """It salts passwords, but a password must not be sent over this connection."""
    TAKEN = 2
