"""A metadata log as a Spark data source: ``spark.read.format("metalog").load(SOURCE)``.

SOURCE is as for the verbs (a folder, a file, ``topic://``, ``quorum://``), or a pattern of folders.
A partition is a gap, or a split of the log, such as a segment. This module must not know what
records mean.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from metalog.errors import CorruptLog, InvalidRequest, InvalidSource
from metalog.text.whole_numbers import whole_number
from metalog_spark.history.archive import Archive, Logs
from metalog_spark.history.pushed_filters import push
from metalog_spark.history.rows import SCHEMA, TYPE_NAMES, Columns, RecordFilter
from metalog_spark.history.splits import OPEN_END, LogHole, LogSplit
from metalog_spark.session import ship

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

NAME: Final = "metalog"
_YES: Final = ("true", "1", "yes")
_NO: Final = ("false", "0", "no")
EARLIEST: Final = "earliest"
LATEST: Final = "latest"
_WORDS: Final = (EARLIEST, LATEST)
_OFFSET: Final = "offset"
_ANEW: Final = "start again with a new checkpoint (metalog pipeline follow: with another --out)"


class Options(NamedTuple):
    """The options of a reader.

    - ``committed`` leaves out records that are not proven to be committed.
    - With ``skip_damaged``, the unreadable rest of a partition becomes one row with the error.
    - ``secrets`` shows salts, keys and passwords.
    - ``first`` is where reading starts: an offset, ``EARLIEST`` or ``LATEST``.
    - ``wanted`` has the record types to read, and the end of a batch query.
    - ``most`` limits the offsets in one batch of a stream.
    """

    source: str
    committed: bool = False
    skip_damaged: bool = False
    secrets: bool = False
    command_config: Path | None = None
    first: int | str = EARLIEST
    most: int | None = None
    wanted: RecordFilter = RecordFilter()

    def begin(self, archive: Archive) -> int:
        first = self.first
        # the offsets of a snapshot's records are their positions in the file
        start, end = (0, OPEN_END) if archive.is_snapshot else (archive.start, archive.end)
        if isinstance(first, str):
            return end if first == LATEST else start
        if not start <= first <= end:
            raise InvalidRequest(
                f"{self.source}: startingOffset is {first}; give an offset from"
                f" {start} to {end}, or {EARLIEST}"
            )
        return first

    def logs(self) -> Logs:
        return Logs(
            self.source,
            environ=os.environ,
            committed=self.committed,
            command_config=self.command_config,
        )


_NAMES: Final = (
    "path", "committed", "skipDamaged", "secrets", "commandConfig",
    "types", "startingOffset", "endingOffset", "maxOffsetsPerTrigger",
)  # fmt: skip


def register(session: SparkSession) -> None:
    """Register the format ``metalog`` in a session, and send our packages to its Python
    workers."""
    ship(session)
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    session.dataSource.register(MetalogDataSource)


def read_options(texts: Mapping[str, str]) -> Options:
    """Parse the options that Spark's users write.

    Raises:
        InvalidRequest: an option is unknown or invalid, or SOURCE is missing.
    """
    known = {name.lower(): name for name in _NAMES}
    options: dict[str, str] = {}
    for name, value in texts.items():
        if name.lower() not in known:
            raise InvalidRequest(f"unknown option {name}; known are {', '.join(_NAMES)}")
        options[known[name.lower()]] = value
    if "path" not in options:
        raise InvalidRequest("SOURCE is missing; write load(SOURCE)")
    starting = options.get("startingOffset", EARLIEST).lower()
    most = options.get("maxOffsetsPerTrigger")
    until = options.get("endingOffset")
    config = options.get("commandConfig")
    wanted = RecordFilter(types=_types(options.get("types")))
    if until is not None:
        wanted = wanted._replace(end=_number("endingOffset", until, 0))
    return Options(
        options["path"],
        _yes_or_no(options, "committed"),
        _yes_or_no(options, "skipDamaged"),
        _yes_or_no(options, "secrets"),
        None if config is None else Path(config),
        starting if starting in _WORDS else _number("startingOffset", starting, 0, _WORDS),
        None if most is None else _number("maxOffsetsPerTrigger", most, 1),
        wanted,
    )


def _types(names: str | None) -> frozenset[str] | None:
    if names is None:
        return None
    types = frozenset(name.strip().upper() for name in names.split(","))
    unknown = sorted(types - TYPE_NAMES)
    if unknown:
        raise InvalidRequest(
            f"unknown record type {unknown[0]}; known are {', '.join(sorted(TYPE_NAMES))}"
        )
    return types


def _yes_or_no(options: Mapping[str, str], name: str) -> bool:
    value = options.get(name, "false").lower()
    if value not in (*_YES, *_NO):
        raise InvalidRequest(f"the option {name} is true or false, not {value}")
    return value in _YES


def _number(name: str, value: str, least: int, words: Sequence[str] = ()) -> int:
    number = whole_number(value)
    if number is None or number < least:
        choices = " or ".join([*words, f"a whole number, {least} or more"])
        raise InvalidRequest(f"the option {name} is {value}; give {choices}")
    return number


class MetalogDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> LogReader:
        return LogReader(read_options(self.options), schema)

    def unfiltered_reader(self, schema: StructType) -> UnfilteredLogReader:
        """A reader for sessions that do not push filters down to Python sources."""
        return UnfilteredLogReader(read_options(self.options), schema)

    def streamReader(self, schema: StructType) -> LogStreamReader:  # noqa: N802 - Spark's name
        options = read_options(self.options)
        if options.wanted.end != RecordFilter().end:
            raise InvalidRequest("endingOffset is for batch queries; a stream has no end")
        return LogStreamReader(options, schema)


class LogPartition(InputPartition):
    def __init__(self, part: LogSplit | LogHole, wanted: RecordFilter) -> None:
        self.part = part
        self.wanted = wanted


class _RowReader:
    """Reads the rows of a partition. The constructor refuses an unknown column, before any task
    runs."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self.options = options
        self._schema = schema
        self._columns()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, LogPartition):
            return
        columns = self._columns()
        part, wanted = partition.part, partition.wanted
        if isinstance(part, LogHole):
            yield from columns.missing(part.start, part.why, wanted)
            return
        try:
            yield from columns.of(part.batches(), wanted)
        except CorruptLog as error:
            if not self.options.skip_damaged:
                raise
            place = part.start if error.offset is None else error.offset
            yield from columns.missing(place, str(error), wanted)

    def _columns(self) -> Columns:
        schema = to_arrow_schema(self._schema, timezone="UTC")
        return Columns(schema, secrets=self.options.secrets)

    def _partitions(self, archive: Archive, wanted: RecordFilter) -> list[InputPartition]:
        partitions: list[InputPartition] = []
        first = wanted.start if wanted.start > archive.start else -1
        for part in archive.parts:
            if isinstance(part, LogHole) and part.is_damage and not self.options.skip_damaged:
                raise CorruptLog(part.why)
            if isinstance(part, LogHole):
                partitions += [LogPartition(part, wanted)] * (first <= part.start < wanted.end)
                continue
            for piece in part.between(first, wanted.end):
                begin = max(piece.start, wanted.start)
                narrowed = wanted._replace(start=begin, end=piece.until)
                partitions.append(LogPartition(piece, narrowed))
        return partitions


class UnfilteredLogReader(_RowReader, DataSourceReader):
    """Reads the log as of the query's start."""

    def __init__(self, options: Options, schema: StructType) -> None:
        super().__init__(options, schema)
        self._wanted = options.wanted

    def partitions(self) -> list[InputPartition]:
        archive, wanted = self.options.logs().look(), self._wanted
        if self.options.first != EARLIEST:
            wanted = wanted._replace(start=max(wanted.start, self.options.begin(archive)))
        return self._partitions(archive, wanted)


class LogReader(UnfilteredLogReader):
    """Applies the filters that ``push`` takes, and leaves all other filters to Spark."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802 - Spark's
        self._wanted, left = push(filters, self._wanted)
        yield from left


class LogStreamReader(_RowReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a growing log. A stream's offset is the first offset that is not read yet."""

    def __init__(self, options: Options, schema: StructType) -> None:
        super().__init__(options, schema)
        self._logs: Logs | None = None
        self._target: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The state without connections, for tasks."""
        return self.__dict__ | {"_logs": None}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {_OFFSET: self.options.begin(self._look())}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        most = self.options.most
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._target = self._look().end

    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, int], limit: ReadLimit
    ) -> dict[str, int]:
        begin = start[_OFFSET]
        end = self._look().end if self._target is None else self._target
        if end < begin:
            raise InvalidSource(
                f"{self.options.source}: ends at offset {end}, but the stream has read up to"
                f" {begin}: some records that it read were never committed, or this is another log;"
                f" {_ANEW}"
            )
        if isinstance(limit, ReadMaxRows):
            end = min(end, begin + limit.max_rows)
        return {_OFFSET: end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        begin = start[_OFFSET]
        archive = self._look()
        if begin < archive.start:
            raise InvalidSource(
                f"{self.options.source}: offsets {begin} to {archive.start - 1} are gone, and were"
                f" not read; also name the folder that keeps these records, or {_ANEW}"
            )
        wanted = self.options.wanted._replace(start=begin, end=end[_OFFSET])
        return self._partitions(archive, wanted)

    def stop(self) -> None:
        if self._logs is not None:
            self._logs.close()

    def _look(self) -> Archive:
        if self._logs is None:
            self._logs = self.options.logs()
        archive = self._logs.look()
        if archive.is_snapshot:
            raise InvalidRequest(
                f"{self.options.source}: a snapshot does not grow; read it as a batch, or"
                " stream its log"
            )
        return archive
