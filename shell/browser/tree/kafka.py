"""Formats values as Java and Kafka do.

Source: what Kafka 4.3's metadata shell prints. This module must not know any ``ImageSubject``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from metalog.ids import Uuid, uuid_text

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def bracketed(values: Iterable[object]) -> str:
    return f"[{', '.join(map(str, values))}]"


def uuids(values: Iterable[Uuid]) -> str:
    return bracketed(map(uuid_text, values))


def boolean(value: bool) -> str:
    return "true" if value else "false"


def optional(value: object | None) -> str:
    return "Optional.empty" if value is None else f"Optional[{value}]"


def double(value: float) -> str:
    """The fewest digits that parse to ``value``, as Java 19 prints them, except some subnormals.

    Java 17 prints a few doubles with more digits (2.0E23 as 1.9999999999999998E23).
    """
    if value != value:
        return "NaN"
    sign = "-" if str(value).startswith("-") else ""
    size = abs(value)
    if size == float("inf"):
        return f"{sign}Infinity"
    if size == 0 or 1e-3 <= size < 1e7:
        return f"{sign}{_with_fraction(format(Decimal(repr(size)), 'f'))}"
    digits, exponent = format(Decimal(repr(size)).normalize(), "E").split("E")
    return f"{sign}{_with_fraction(digits)}E{int(exponent)}"


def _with_fraction(digits: str) -> str:
    return digits if "." in digits else f"{digits}.0"


def zoned_time(epoch_ms: int) -> str:
    """``DateTimeFormatter.ISO_ZONED_DATE_TIME`` in UTC; ``N ms`` outside the years 1 to 9999."""
    try:
        time = _EPOCH + timedelta(milliseconds=epoch_ms)
    except OverflowError:
        return f"{epoch_ms} ms"
    fraction = f".{time.microsecond // 1000:03d}".rstrip("0").rstrip(".")
    return f"{time:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + f"{fraction}Z[UTC]"
