"""Parses the most common audit lines as columns: lines of Kafka 3.3 or later with log4j's time.

A common line has exactly six separators (``=`` between two spaces), so a name cannot be mistaken
for another part of the line. For common lines, ``audit_lines`` gives the same result, but slower.
This module must not know files, Spark, nor other readings of a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from authorizer.audit.layouts import Zone
from authorizer.audit.line import OPERATIONS, TYPES
from authorizer.engine.decide import MATCHING_ACL

_SIGN_COUNT: Final = 6
_HEAD: Final = np.frombuffer(b"Principal", np.uint8)
_EQUALS, _SPACE, _BRACKET = b"= ["
_MINUTE: Final = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}")
_MINUTE_BYTES: Final = 16
_TIME_BYTES: Final = _MINUTE_BYTES + 7
"""The length of a time, such as ``2026-11-21 18:35:56,123``."""
_LAYOUT: Final = re.compile(rb"\]? (?:(?:TRACE|DEBUG|INFO|WARN) )?")
_LONGEST_PREFIX: Final = 1 + _TIME_BYTES + len("] DEBUG ")
_TAIL_BYTES: Final = 48
"""How many bytes after a line's last separator are parsed. An ACL begins within these bytes."""
_MOST_CACHED: Final = 1 << 16
_PARTS: Final = (
    re.compile(rb"(?s:(.*)) is (Allowed|Denied) [Oo]peration"),
    re.compile(rb"([A-Za-z_]+) from host"),
    re.compile(rb"([^ ]*) on resource"),
    re.compile(rb"([A-Za-z_]+):(LITERAL|PREFIXED):(?s:(.*)) for request"),
    re.compile(rb"([^ ]*) with resourceRefCount"),
    re.compile(
        rb"([0-9]{1,9}) based on rule"
        rb" (?:(SuperUser|DefaultAllow|DefaultDeny)|MatchingAcl\(acl=)(?s:.*)"
    ),
)
"""The text after each separator, up to the next separator."""

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]
Values = tuple[Any, ...] | None


class Common(NamedTuple):
    """The parsed lines, all unambiguous: their indexes (``places``), their times in microseconds
    since 1970 (``micros``), and their content, named as in ``Row``."""

    places: Numbers
    micros: Numbers
    columns: Mapping[str, pa.Array]


def _principal(found: re.Match[bytes]) -> Values:
    return found[1].decode(), "ALLOWED" if found[2] == b"Allowed" else "DENIED"


def _operation(found: re.Match[bytes]) -> Values:
    operation = OPERATIONS.get(found[1].decode())
    return None if operation is None else (operation,)


def _resource(found: re.Match[bytes]) -> Values:
    kind = TYPES.get(found[1].decode())
    return None if kind is None else (kind, found[2].decode(), found[3].decode())


def _text(found: re.Match[bytes]) -> Values:
    return (found[1].decode(),)


def _tail(found: re.Match[bytes]) -> Values:
    return int(found[1]), MATCHING_ACL if found[2] is None else found[2].decode()


_READ: Final[tuple[tuple[tuple[str, ...], Callable[[re.Match[bytes]], Values]], ...]] = (
    (("principal", "result"), _principal),
    (("operation",), _operation),
    (("host",), _text),
    (("resource_type", "pattern_type", "resource_name"), _resource),
    (("request_name",), _text),
    (("resource_reference_count", "rule"), _tail),
)
"""The columns of each part, and the function that makes their values."""
_KINDS: Final = {"resource_reference_count": pa.int32()}
_CACHE: Final[tuple[dict[bytes, Values], ...]] = tuple({} for _ in _PARTS)


def common_lines(lines: pa.BinaryArray, zone: Zone) -> Common:
    """Parse the common lines among ``lines``. No line may be null."""
    data, edges = _bytes_of(lines)
    rows, signs = _with_six_signs(data, edges)
    rows, signs = _kept(rows, signs, _has_head(data, edges[rows], signs))
    rows, signs = _kept(rows, signs, _is_utf8(lines, data, edges, rows))
    micros, is_timed = _times(data, edges[rows], signs[:, 0] - 1 - len(_HEAD), zone)
    rows, signs, micros = rows[is_timed], signs[is_timed], micros[is_timed]
    columns: dict[str, pa.Array] = {}
    is_read = np.ones(len(rows), np.bool_)
    for place, part in enumerate(_parts(lines, edges, rows, signs)):
        found, has_values = _columns(place, part)
        columns |= found
        is_read &= has_values
    if not is_read.all():
        mask = pa.array(is_read)
        columns = {name: column.filter(mask) for name, column in columns.items()}
    return Common(rows[is_read], micros[is_read], columns)


def _bytes_of(lines: pa.BinaryArray) -> tuple[NDArray[np.uint8], Numbers]:
    """The buffer, and the positions of each line's start and of the last line's end."""
    _, offsets, data = lines.buffers()
    edges = np.frombuffer(offsets, np.int32)[lines.offset :][: len(lines) + 1]
    found = np.frombuffer(data or b"", np.uint8)
    return found, edges.astype(np.int64)


def _with_six_signs(data: NDArray[np.uint8], edges: Numbers) -> tuple[Numbers, Numbers]:
    """The lines with six separators, and the positions of the six ``=`` of each line."""
    begin = int(edges[0])
    inside = data[begin : int(edges[-1])]
    equals = np.flatnonzero(inside == _EQUALS)
    equals = equals[(equals > 0) & (equals < len(inside) - 1)]
    equals = equals[(inside[equals - 1] == _SPACE) & (inside[equals + 1] == _SPACE)] + begin
    firsts = np.searchsorted(equals, edges)
    rows = np.flatnonzero(np.diff(firsts) == _SIGN_COUNT)
    return rows, equals[firsts[rows][:, None] + np.arange(_SIGN_COUNT)].reshape(-1, _SIGN_COUNT)


def _kept(rows: Numbers, signs: Numbers, mask: Truths) -> tuple[Numbers, Numbers]:
    return (rows, signs) if mask.all() else (rows[mask], signs[mask])


def _has_head(data: NDArray[np.uint8], begins: Numbers, signs: Numbers) -> Truths:
    """Whether ``Principal`` is before the first separator, and no two separators share a space."""
    heads = signs[:, 0] - 1 - len(_HEAD)
    is_so = (heads >= begins) & (np.diff(signs, axis=1) > 2).all(axis=1)
    found = data[np.maximum(heads, 0)[:, None] + np.arange(len(_HEAD))]
    is_so &= (found == _HEAD).all(axis=1)
    return is_so


def _is_utf8(
    lines: pa.BinaryArray, data: NDArray[np.uint8], edges: Numbers, rows: Numbers
) -> Truths:
    is_so = np.ones(len(rows), np.bool_)
    try:
        lines.cast(pa.string())
    except pa.ArrowInvalid:
        for place, row in enumerate(rows.tolist()):
            try:
                data[edges[row] : edges[row + 1]].tobytes().decode()
            except UnicodeDecodeError:
                is_so[place] = False
    return is_so


def _times(
    data: NDArray[np.uint8], begins: Numbers, heads: Numbers, zone: Zone
) -> tuple[Numbers, Truths]:
    """The time before each head, in microseconds since 1970, and whether the time is valid."""
    micros = np.zeros(len(begins), np.int64)
    is_timed = np.zeros(len(begins), np.bool_)
    lengths = heads - begins
    for length in np.flatnonzero(np.bincount(lengths[lengths <= _LONGEST_PREFIX])).tolist():
        rows = np.flatnonzero(lengths == length)
        prefixes = data[begins[rows][:, None] + np.arange(length)]
        if length > _TIME_BYTES + 1 and (prefixes[:, 0] == _BRACKET).all():
            prefixes = prefixes[:, 1:]
        if prefixes.shape[1] > _TIME_BYTES:
            micros[rows], is_timed[rows] = _time_of(prefixes, zone)
    return micros, is_timed


def _time_of(prefixes: NDArray[np.uint8], zone: Zone) -> tuple[Numbers, Truths]:
    minutes, seconds, layout = np.split(prefixes, [_MINUTE_BYTES, _TIME_BYTES], axis=1)
    digits = seconds[:, [1, 2, 4, 5, 6]].astype(np.int64) - ord("0")
    is_so = ((digits >= 0) & (digits <= 9)).all(axis=1) & (digits[:, 0] < 6)
    is_so &= (seconds[:, 0] == ord(":")) & np.isin(seconds[:, 3], [ord(","), ord(".")])
    is_so &= _by_value(layout, lambda text: _LAYOUT.fullmatch(text) is not None)[0] > 0
    starts, is_minute = _by_value(minutes, partial(_minute, zone))
    second = digits[:, 0] * 10 + digits[:, 1]
    milli = digits[:, 2] * 100 + digits[:, 3] * 10 + digits[:, 4]
    return starts + second * 1_000_000 + milli * 1_000, is_so & is_minute


def _minute(zone: Zone, text: bytes) -> int | None:
    if _MINUTE.fullmatch(text) is None:
        return None
    try:
        start, is_sure = zone.minute(text.decode())
    except (ValueError, OverflowError):
        return None
    return start if is_sure else None


def _by_value(
    texts: NDArray[np.uint8], value_of: Callable[[bytes], int | None]
) -> tuple[Numbers, Truths]:
    """The value of each text, and whether the text is valid. All texts have one length."""
    whole = np.ascontiguousarray(texts)
    width = whole.shape[1]
    coded = pa.Array.from_buffers(
        pa.binary(width), len(whole), [None, pa.py_buffer(whole)]
    ).dictionary_encode()
    values = [value_of(text) for text in coded.dictionary.to_pylist()]
    places = coded.indices.to_numpy()
    numbers = np.array([value or 0 for value in values], np.int64)
    has_value = np.array([value is not None for value in values], np.bool_)
    return numbers[places], has_value[places]


def _parts(
    lines: pa.BinaryArray, edges: Numbers, rows: Numbers, signs: Numbers
) -> Iterator[pa.BinaryArray]:
    offsets = np.empty((len(rows), 2 * _SIGN_COUNT), np.int32)
    offsets[:, ::2] = signs + 2
    offsets[:, 1:-1:2] = signs[:, 1:] - 1
    ends = edges[rows + 1]
    offsets[:, -1] = np.minimum(signs[:, -1] + 2 + _TAIL_BYTES, ends)
    np.maximum.accumulate(offsets, axis=1, out=offsets)
    all_offsets = np.append(offsets, offsets[-1, -1] if len(rows) else 0).astype(np.int32)
    data = lines.buffers()[2]
    pieces = pa.Array.from_buffers(
        pa.binary(), offsets.size, [None, pa.py_buffer(all_offsets), data]
    )
    for sign in range(_SIGN_COUNT):
        yield pieces.take(pa.array(np.arange(2 * sign, offsets.size, 2 * _SIGN_COUNT)))


def _columns(place: int, part: pa.BinaryArray) -> tuple[dict[str, pa.Array], Truths]:
    coded = part.dictionary_encode()
    values = _values(place, coded.dictionary.to_pylist())
    names, _ = _READ[place]
    columns = {}
    for at, name in enumerate(names):
        column = [each and each[at] for each in values]
        columns[name] = pa.array(column, _KINDS.get(name, pa.string())).take(coded.indices)
    has_values = np.array([each is not None for each in values], np.bool_)
    return columns, has_values[coded.indices.to_numpy()]


def _values(place: int, texts: list[bytes]) -> list[Values]:
    cache = _CACHE[place]
    if len(cache) > _MOST_CACHED:
        cache.clear()
    found = list(map(cache.get, texts))
    for at, text in enumerate(texts):
        if found[at] is None:
            found[at] = cache[text] = _value(place, text)
    return found


def _value(place: int, text: bytes) -> Values:
    match = _PARTS[place].fullmatch(text)
    try:
        return None if match is None else _READ[place][1](match)
    except UnicodeDecodeError:
        return None
