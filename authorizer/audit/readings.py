"""Lists the requests that one ambiguous line of an audit log can be about.

Kafka escapes nothing in names, and a broker that dies leaves half a line, which the next line
continues. So one line can contain several audit lines or parts of them. This module must not know
files, times, nor ACLs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, zip_longest
from typing import Final, NamedTuple

from authorizer.audit.line import HEAD, VERDICT, Row, line_readings, row_of, unfinished_readings

MOST_READINGS: Final = 64
"""The maximum for one line: a hostile name can make thousands of readings."""
_MOST_TRIED: Final = 16 * MOST_READINGS
_MOST_HEADS: Final = 16


class Reading(NamedTuple):
    """``row`` is the request if the audit line begins at position ``head``."""

    head: int
    row: Row


def heads_in(text: str) -> Iterator[int]:
    """The positions in ``text`` where an audit line can begin."""
    at = text.find(HEAD)
    while at >= 0:
        yield at
        at = text.find(HEAD, at + 1)


def has_verdict(text: str) -> bool:
    """Whether ``text`` says that an operation on a resource type is allowed or denied."""
    return VERDICT.search(text) is not None


def readings(text: str) -> Iterator[Reading]:
    """Up to ``MOST_READINGS`` readings of ``text`` as a complete line: first the likeliest one from
    each position."""
    return _in_turn(
        (Reading(head, row_of(line)) for line in line_readings(text[head:]))
        for head in islice(heads_in(text), _MOST_HEADS)
    )


def unfinished(text: str) -> Iterator[Reading]:
    """The readings of ``text`` as a line whose end is lost, as ``unfinished_readings`` reads it."""
    return _in_turn(
        (Reading(head, row_of(line)) for line in unfinished_readings(text[head:]))
        for head in islice(heads_in(text), _MOST_HEADS)
    )


def _in_turn(of_heads: Iterator[Iterator[Reading]]) -> Iterator[Reading]:
    interleaved = chain.from_iterable(zip_longest(*of_heads))
    different = dict.fromkeys(each for each in islice(interleaved, _MOST_TRIED) if each is not None)
    return islice(iter(different), MOST_READINGS)
