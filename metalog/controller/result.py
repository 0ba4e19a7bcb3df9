"""A controller's result: records to append, and the response when the records are durable.

This module must not know any particular request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from metalog.errors import SUCCESS, ApiError

__all__ = ["MAX_RECORDS_PER_USER_OPERATION", "SUCCESS", "ApiError", "ControllerResult"]

R = TypeVar("R")

MAX_RECORDS_PER_USER_OPERATION: Final = 10_000
"""Kafka's limit on the records of one request."""


class ControllerResult(NamedTuple, Generic[R]):
    """``records`` are (message, version) pairs in request order. All take effect, or none."""

    records: Sequence[tuple[Any, int]]
    response: R
