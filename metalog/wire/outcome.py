"""The outcome of a request, or of one of its items: Kafka's error code and message.

This module must not know which API answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from metalog.errors import ErrorCode
from metalog.wire.schema import error_name

_LONGEST_MESSAGE: Final = 300


class ApiOutcome(NamedTuple):
    """``code`` can be any number; ``message`` is the peer's text."""

    code: int = ErrorCode.NONE
    message: str | None = None

    @property
    def is_failure(self) -> bool:
        return self.code != ErrorCode.NONE

    def __str__(self) -> str:
        """``CLUSTER_AUTHORIZATION_FAILED: …``, on one line."""
        message = " ".join((self.message or "").split())[:_LONGEST_MESSAGE]
        return f"{error_name(self.code)}: {message}" if message else error_name(self.code)


def outcome_of(part: Any) -> ApiOutcome:
    """The outcome in a response or a part of it; success if ``part`` has no error code."""
    return ApiOutcome(int(getattr(part, "error_code", 0)), getattr(part, "error_message", None))


def first_failure(outcomes: Iterable[ApiOutcome]) -> ApiOutcome:
    """The first failure among ``outcomes``, or a success."""
    return next((each for each in outcomes if each.is_failure), ApiOutcome())
