"""Reads audit files and a topic's records in a worker.

Spark sends the lines of a plain file in splits, and a compressed file whole. This module
decompresses the file itself, to read a damaged file up to the damage. Only LF ends a line. Each
split also has one row about the split itself, with which later builds recognize the file. This
module must not know what a line says, nor how Spark lists files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from authorizer.audit.layouts import Zone
from metalog_spark.ingest.audit_files import (
    BLOCK_BYTES,
    DAMAGED,
    GZIP_MAGIC,
    LONGEST_LINE,
    SHOWN_BYTES,
    TOO_LONG,
    BrokerPattern,
    broker_of,
    unpacked,
    whole_lines,
)
from metalog_spark.ingest.lines.audit_log import (
    MARK_SURPLUS,
    Origin,
    ReadSplit,
    read_lines,
    record_readings,
    split_batch,
)
from metalog_spark.store.local_path import local_path

LINES: Final = (
    f"CASE WHEN octet_length(value) > {LONGEST_LINE} THEN concat(substring(CAST(value AS BINARY),"
    f" 1, {SHOWN_BYTES}), CAST(concat('\\n', octet_length(value)) AS BINARY))"
    " ELSE CAST(value AS BINARY) END AS line"
)
"""A line. If the line is too long, the column has its beginning, an LF, and its whole length in
bytes."""
_MISNAMED: Final = "packed by gzip, and its name does not end in .gz: rename the file"
_HEAD_BYTES: Final = 16 << 10
"""How many bytes at a file's start are fingerprinted: more than the output of a start script, which
can be the same in many files."""
_MOST_LINES: Final = 16_384
_MOST_BYTES: Final = 16 << 20
"""The bytes after which a batch ends, because a topic's records can have any size."""


class Record(NamedTuple):
    """``line`` is the number of the record's first line. A record with a ``fault`` has no lines."""

    file: str
    broker: str
    line: int
    lines: bytes
    fault: str | None = None


class _Head:
    """Fingerprints of a file's beginning: for each line in the first 16 KiB, a fingerprint of the
    file up to the end of the line. If the first line is longer, the only fingerprint covers the
    line's beginning. Two files with an equal fingerprint begin alike."""

    def __init__(self) -> None:
        self.found: list[int] = []
        self._digest = blake2b(digest_size=8)
        self._left = _HEAD_BYTES

    def add(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            if self._left <= 0:
                return
            text = line.partition(b"\n")[0]
            self._left -= len(text) + 1
            self._digest.update(text[:_HEAD_BYTES] + b"\n")
            if self._left >= 0 or not self.found:
                fingerprint = self._digest.copy().digest()
                self.found.append(int.from_bytes(fingerprint, "little", signed=True))

    @property
    def is_full(self) -> bool:
        return self._left <= 0


def file_at(uri: str) -> str:
    """The name that the tables use for the file at ``uri``."""
    return local_path(unquote(uri, errors="backslashreplace"))


class _OpenSplit:
    def __init__(self, path: str, start: int, size: int, pattern: BrokerPattern) -> None:
        self.path, self.start, self.size = path, start, size
        self.file = file_at(path)
        self.broker = broker_of(self.file, pattern)
        self.lines = self.bytes = 0
        self._head = _Head()

    def add(self, lines: pa.BinaryArray, size: int) -> None:
        self.lines += len(lines)
        self.bytes += size + len(lines)
        place = 0
        while self.start == 0 and not self._head.is_full and place < len(lines):
            self._head.add(lines[place : place + 64].to_pylist())
            place += 64

    def row(self) -> tuple[ReadSplit, str, str, int]:
        head = self._head.found
        more = self.bytes - self.size
        is_unended = self.start == 0 and more in (1, -MARK_SURPLUS)
        split = ReadSplit(self.lines, self.bytes, self.size, head[:-1] if is_unended else head)
        return split, self.file, self.broker, self.start


def read_splits(
    batches: Iterable[pa.RecordBatch], zone: Zone, pattern: BrokerPattern
) -> Iterator[pa.RecordBatch]:
    """Read batches with five columns: ``LINES``, the file's path, the split's start, the file's
    size, and the number of lines before the split."""
    current: _OpenSplit | None = None
    for batch in batches:
        lines, paths = batch.column(0).cast(pa.binary()), batch.column(1)
        starts = batch.column(2).to_numpy()
        coded = paths.dictionary_encode()
        path_indexes = coded.indices.to_numpy().astype(np.int64)
        edges = np.flatnonzero((np.diff(path_indexes) != 0) | (np.diff(starts) != 0)) + 1
        names = coded.dictionary.to_pylist()
        numbers = np.empty(len(lines), np.int64)
        faults, lengths = _too_long(lines)
        ended, by_run = [], list[_OpenSplit]()
        runs = np.empty(len(lines), np.int64)
        for begin, end in zip([0, *edges], [*edges, len(lines)], strict=True):
            path, start = names[path_indexes[begin]], int(starts[begin])
            if current is None or (current.path, current.start) != (path, start):
                if current is not None:
                    ended.append(current.row())
                current = _OpenSplit(path, start, batch.column(3)[int(begin)].as_py(), pattern)
                if start == 0 and lines[int(begin)].as_buffer()[:2].to_pybytes() == GZIP_MAGIC:
                    faults[int(begin)] = _MISNAMED
            first = current.lines + batch.column(4)[int(begin)].as_py() + 1
            numbers[begin:end] = np.arange(first, first + end - begin)
            current.add(lines[begin:end], int(lengths[begin:end].sum()))
            runs[begin:end] = len(by_run)
            by_run.append(current)
        origin = Origin(
            [each.file for each in by_run], [each.broker for each in by_run], runs, starts, numbers
        )
        yield from read_lines(_shortened(lines, faults), origin, zone, faults=faults)
        if ended:
            yield split_batch(ended)
    if current is not None:
        yield split_batch([current.row()])


def _too_long(lines: pa.BinaryArray) -> tuple[dict[int, str], NDArray[np.int64]]:
    """The faults of lines that ``LINES`` cut, by position, and the whole length of every line."""
    offsets = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset :][: len(lines) + 1]
    lengths = np.diff(offsets).astype(np.int64)
    data = np.frombuffer(lines.buffers()[2] or b"", np.uint8)
    faults = {}
    for place in np.flatnonzero(lengths > SHOWN_BYTES).tolist():
        if data[offsets[place] + SHOWN_BYTES] == ord("\n"):
            faults[place] = TOO_LONG
            lengths[place] = int(lines[place].as_py().partition(b"\n")[2])
    return faults, lengths


def _shortened(lines: pa.BinaryArray, faults: dict[int, str]) -> pa.BinaryArray:
    """The lines without the lengths that ``LINES`` adds."""
    if TOO_LONG not in faults.values():
        return lines
    texts = lines.to_pylist()
    for place in faults:
        texts[place] = texts[place].partition(b"\n")[0]
    return pa.array(texts, pa.binary())


def read_packed(
    batches: Iterable[pa.RecordBatch], zone: Zone, pattern: BrokerPattern
) -> Iterator[pa.RecordBatch]:
    """Read batches with each file's path and content."""
    gathered = _Gathered(zone)
    for batch in batches:
        for path, content in zip(batch.column(0), batch.column(1), strict=True):
            file = local_path(path.as_py())
            broker = broker_of(file, pattern)
            yield from _read_packed(file, broker, content.as_buffer(), gathered)
    yield from gathered.flush()


def _read_packed(
    file: str, broker: str, content: pa.Buffer, gathered: _Gathered
) -> Iterator[pa.RecordBatch]:
    head, count, size = _Head(), 0, 0
    for block in whole_lines(unpacked(content)):
        if block.fault is None:
            texts = block.lines.removesuffix(b"\n").split(b"\n")
            is_ended = block.lines.endswith(b"\n")
            gathered.add(file, broker, count + 1, texts, is_ended=is_ended)
            head.add(texts if is_ended else texts[:-1])
            count, size = count + len(texts), size + len(block.lines)
        else:
            gathered.add_fault(file, broker, count + 1, block.lines, block.fault)
            if not block.fault.startswith(DAMAGED):
                head.add([block.lines])
            count, size = count + 1, size + len(block.lines) + 1
        if gathered.is_full:
            yield from gathered.flush()
    gathered.splits.append((ReadSplit(count, size, size, head.found), file, broker, 0))


def read_records(records: Iterable[Record], zone: Zone) -> Iterator[pa.RecordBatch]:
    """Read records, each with one event. If a name has an LF, the record has several lines, and all
    these lines are ambiguous."""
    gathered = _Gathered(zone)
    for record in records:
        if record.fault is not None:
            gathered.add_fault(record.file, record.broker, record.line, b"", record.fault)
        else:
            _add_record(record, gathered)
        if gathered.is_full:
            yield from gathered.flush()
    yield from gathered.flush()


def _add_record(record: Record, gathered: _Gathered) -> None:
    text = record.lines.removesuffix(b"\n") + b"\n"
    number = record.line
    is_one_line = b"\n" not in record.lines.removesuffix(b"\n")
    for block in whole_lines(
        text[at : at + BLOCK_BYTES] for at in range(0, len(text), BLOCK_BYTES)
    ):
        if block.fault is not None:
            gathered.add_fault(record.file, record.broker, number, block.lines, block.fault)
            number += 1
            continue
        texts = block.lines.removesuffix(b"\n").split(b"\n")
        gathered.add(record.file, record.broker, number, texts, has_several_lines=not is_one_line)
        number += len(texts)
    if not is_one_line:
        gathered.add_record(record)


class _Gathered:
    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        self.splits: list[tuple[ReadSplit, str, str, int]] = []
        self._clear()

    def _clear(self) -> None:
        self._files: dict[tuple[str, str], int] = {}
        self._lines: list[bytes] = []
        self._indexes: list[int] = []
        self._numbers: list[int] = []
        self._faults: dict[int, str] = {}
        self._unended: set[int] = set()
        self._shared: set[int] = set()
        self._whole: list[tuple[int, bytes]] = []
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return len(self._lines) >= _MOST_LINES or self._bytes >= _MOST_BYTES

    def add(
        self,
        file: str,
        broker: str,
        first: int,
        texts: list[bytes],
        *,
        is_ended: bool = True,
        has_several_lines: bool = False,
    ) -> None:
        begin = len(self._lines)
        index = self._files.setdefault((file, broker), len(self._files))
        self._lines += texts
        self._indexes += [index] * len(texts)
        self._numbers += range(first, first + len(texts))
        self._bytes += sum(map(len, texts))
        if not is_ended:
            self._unended.add(len(self._lines) - 1)
        if has_several_lines:
            self._shared.update(range(begin, len(self._lines)))

    def add_fault(self, file: str, broker: str, number: int, line: bytes, fault: str) -> None:
        self.add(file, broker, number, [line])
        self._faults[len(self._lines) - 1] = fault

    def add_record(self, record: Record) -> None:
        """Call this after ``add`` has added the lines of ``record``."""
        index = self._files[record.file, record.broker]
        self._whole.append((self._indexes.index(index), record.lines))

    def flush(self) -> Iterator[pa.RecordBatch]:
        if self._lines:
            files, brokers = zip(*self._files, strict=True)
            indexes = np.array(self._indexes, np.int64)
            numbers = np.array(self._numbers, np.int64)
            origin = Origin(files, brokers, indexes, np.zeros_like(numbers), numbers)
            yield from read_lines(
                pa.array(self._lines, pa.binary()),
                origin,
                self._zone,
                faults=self._faults,
                unended=self._unended,
                shared=self._shared,
            )
            for place, lines in self._whole:
                yield from record_readings(lines, place, origin, self._zone)
        if self.splits:
            yield split_batch(self.splits)
        self.splits = []
        self._clear()
