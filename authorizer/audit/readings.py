"""Lists the requests that one ambiguous line of an audit log can be about.

Kafka escapes nothing, and a writer that dies leaves half a line, to which the next line is
appended. So one line can contain several beginnings of an audit line, several verdicts and several
ends. ``parse_line`` picks the likeliest reading; this module lists up to ``MOST_READINGS``
readings. This module must not know files, times, nor ACLs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, zip_longest
from typing import Final, NamedTuple

from authorizer.audit.line import HEAD, VERDICT, Row, line_readings, row_of, unfinished_readings

MOST_READINGS: Final = 64
"""The maximum number of readings for one line: a hostile name can make thousands."""
_MOST_TRIED: Final = 16 * MOST_READINGS
_MOST_HEADS: Final = 16


class Reading(NamedTuple):
    """``row`` is the request that the line states if its audit line begins at position ``head``.

    In the rows of ``unfinished``, ``pattern_type`` is PREFIXED, and ``resource_name`` is the start
    of the resource's name, or the whole name and more text.
    """

    head: int
    row: Row


def heads_in(text: str) -> Iterator[int]:
    """The positions in ``text`` where an audit line can begin."""
    at = text.find(HEAD)
    while at >= 0:
        yield at
        at = text.find(HEAD, at + 1)


def has_verdict(text: str) -> bool:
    """Whether ``text`` contains a verdict: an operation on a resource type, allowed or denied."""
    return VERDICT.search(text) is not None


def readings(text: str) -> Iterator[Reading]:
    """The readings of ``text`` as a complete line, from the first ``_MOST_HEADS`` positions of
    ``heads_in``. The likeliest reading from each position is listed before all others."""
    return _in_turn(
        (Reading(head, row_of(line)) for line in line_readings(text[head:]))
        for head in islice(heads_in(text), _MOST_HEADS)
    )


def unfinished(text: str) -> Iterator[Reading]:
    """The readings of ``text`` as the beginning of a line whose rest is lost."""
    return _in_turn(
        (Reading(head, row_of(line)) for line in unfinished_readings(text[head:]))
        for head in islice(heads_in(text), _MOST_HEADS)
    )


def _in_turn(of_heads: Iterator[Iterator[Reading]]) -> Iterator[Reading]:
    interleaved = chain.from_iterable(zip_longest(*of_heads))
    different = dict.fromkeys(each for each in islice(interleaved, _MOST_TRIED) if each is not None)
    return islice(iter(different), MOST_READINGS)
