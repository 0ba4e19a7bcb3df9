"""Detects a log that lost records at its end, by the files that Kafka keeps beside its segments.

A log that was cut between two batches looks complete. Kafka writes a producer snapshot
(``N.snapshot``) after all records below offset N, and an index entry after its batch. The caller
must read these files before the log; otherwise, a new batch looks lost. This module must not read a
batch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from metalog.disk.files import Files, opened
from metalog.errors import CorruptLog
from metalog.log.folder import layout
from metalog.text.plurals import noun_range, plural

MOST_LISTINGS: Final = 5
"""How often a log whose records seem to be missing is listed and read, until the list stays the
same: Kafka can have truncated the records after the first listing."""
_ADVICE: Final = "take the log from another copy"
_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")


class LogExtent(NamedTuple):
    """``file`` shows that the log once held all records below offset ``end``.

    ``is_certain`` is false if a power cut can have left the same ``file`` without a loss.
    """

    end: int
    file: str
    is_certain: bool


def find_extents(
    partition: Path, names: Sequence[str], files: Files, segment: int | None = None
) -> tuple[LogExtent, ...]:
    """The ends that the log up to the end of ``segment`` once reached.

    ``names`` are the files in ``partition``. By default, ``segment`` is the last segment. The
    log's writer can have removed an index since: it replaces the last one when it starts.
    """
    bases = layout.segments(names)
    base = segment if segment is not None else bases[-1] if bases else -1
    limit = min((each for each in bases if each > base), default=None)
    found = [
        each for each in _by_name(partition, names, base) if limit is None or each.end <= limit
    ]
    for name, entry in (
        (layout.index_name(base), _OFFSET_ENTRY),
        (layout.time_index_name(base), _TIME_ENTRY),
    ):
        if name not in names:
            continue
        with suppress(FileNotFoundError):
            offset = _last_offset(files, partition / name, entry)
            found.append(LogExtent(base + offset + 1, str(partition / name), is_certain=False))
    return tuple(found)


def missing_after(extents: Iterable[LogExtent], end: int, *, is_certain: bool) -> CorruptLog | None:
    """The error for records that are missing after a log's ``end``, or None.

    ``extents`` with another ``is_certain`` are ignored.
    """
    last = max((each for each in extents if each.is_certain is is_certain), default=None)
    if last is None or last.end <= end:
        return None
    verb = plural(last.end - end, "is", "are")
    lost = "missing from the log" if is_certain else "missing, or never reached the disk"
    shown = f"it shows {noun_range('record', end, last.end)}, which {verb} {lost}"
    return CorruptLog(shown, file=last.file, advice=_ADVICE)


def _by_name(partition: Path, names: Sequence[str], base: int) -> Iterator[LogExtent]:
    for name in names:
        offset = layout.producer_state_offset(name)
        if offset is None:
            offset = layout.segment_base_offset(name)
        index = layout.index_base_offset(name)
        if offset is not None:
            yield LogExtent(offset, str(partition / name), is_certain=True)
        elif index is not None and index > base:
            yield LogExtent(index + 1, str(partition / name), is_certain=False)


def _last_offset(files: Files, path: Path, entry: struct.Struct) -> int:
    """The relative offset in an index's last entry; -1 if there is none.

    Kafka preallocates the file, so zeros follow the last entry.
    """
    with opened(files, path) as file:
        low, high = 0, file.size() // entry.size
        last = b""
        while low < high:
            middle = (low + high) // 2
            read = file.read_at(middle * entry.size, entry.size)
            if read.strip(b"\0"):
                low, last = middle + 1, read
            else:
                high = middle
    if len(last) < entry.size:
        return -1
    fields: tuple[int, ...] = entry.unpack(last)
    return fields[0] if entry is _OFFSET_ENTRY else fields[1]
