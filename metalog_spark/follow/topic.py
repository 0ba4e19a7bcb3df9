"""Finds new offsets of the topic with audit lines, and reads the lines.

The stream has a row for each range of new offsets, and a batch reads the records. This module must
not know what a line says.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from authorizer.audit.layouts import fields_around
from metalog.disk.files import LOCAL_FILES
from metalog.errors import InvalidSource
from metalog.log.topic.address import parse_address
from metalog.log.topic.cluster import TopicEnds
from metalog.log.topic.partitions import Deleted, PartitionedTopic
from metalog_sources.live.client_file import topic_client_settings
from metalog_spark.ingest.audit_files import name_found
from metalog_spark.ingest.audit_splits import Record, read_records
from metalog_spark.ingest.lines.audit_log import LOST
from metalog_spark.ingest.requests import READ, spread

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from authorizer.audit.layouts import Zone
    from metalog.log.topic.records import Stored

NAME: Final = "metalog-audit-topic"
SPANS: Final = "partition INT, first BIGINT, past BIGINT"
_ID: Final = "id"
_TASK_OFFSETS: Final = 100_000


class Span(NamedTuple):
    """The offsets of a partition from ``first`` to ``past`` (exclusive)."""

    partition: int
    first: int
    past: int

    def pieces(self, kept: int, most: int = _TASK_OFFSETS) -> Iterator[Span]:
        """The span in parts of at most ``most`` offsets. Deleted offsets (below ``kept``) are one
        part, of any size."""
        kept = min(max(kept, self.first), self.past)
        if self.first < kept:
            yield Span(self.partition, self.first, kept)
        for first in range(kept, self.past, most):
            yield Span(self.partition, first, min(first + most, self.past))


def opened_topic(audit: str, command_config: Path | None) -> PartitionedTopic:
    """The topic; its cluster is not contacted yet."""
    settings, _ = topic_client_settings(command_config, LOCAL_FILES)
    return PartitionedTopic(parse_address(audit), settings)


def read_topic(
    session: SparkSession,
    topic: PartitionedTopic,
    spans: Sequence[Span],
    broker: re.Pattern[str] | None,
    zone: Zone,
) -> DataFrame:
    """All lines in ``spans``, as rows of ``READ``."""
    kept = {number: ends.start for number, ends in (topic.ends() if spans else {}).items()}
    pieces = [piece for span in spans for piece in span.pieces(kept.get(span.partition, 0))]

    def read(task: int) -> Iterator[pa.RecordBatch]:
        return read_records(records_in(topic, pieces[task], broker), zone)

    return spread(session, len(pieces), read, READ)


def records_in(
    topic: PartitionedTopic, span: Span, broker: re.Pattern[str] | None
) -> Iterator[Record]:
    """The records of ``span``. A line's number is the record's offset. A record with several lines
    counts as a file; the file's name ends with the offset."""
    name = f"{topic.address}/{span.partition}"
    unnamed = topic.address.topic
    for stored in topic.read(span.partition, span.first, span.past):
        if isinstance(stored, Deleted):
            lost = f"{LOST}: offsets {stored.start} to {stored.end - 1}"
            yield Record(name, unnamed, stored.start, b"", lost)
            continue
        lines = stored.value or b""
        of = broker_of_record(stored, broker) or unnamed
        if b"\n" in lines.removesuffix(b"\n"):
            yield Record(f"{name}/{stored.offset}", of, 1, lines)
        else:
            yield Record(name, of, stored.offset, lines)


def broker_of_record(record: Stored, pattern: re.Pattern[str] | None) -> str | None:
    """The broker that wrote the line: the record's key, or None without a key.

    With a ``pattern``: the first name that ``name_found`` finds in the key, in a header
    (``NAME=VALUE``), or in a field of the JSON around the line (``host.name=VALUE``).
    """
    key = _text(record.key)
    if pattern is None:
        return key or None
    for text in (key, *_headers_and_fields(record)):
        if found := name_found(pattern, text):
            return found
    return None


def _headers_and_fields(record: Stored) -> Iterator[str]:
    yield from (f"{name}={_text(value)}" for name, value in record.headers)
    yield from fields_around(_text(record.value))


def _text(value: bytes | None) -> str:
    return (value or b"").decode(errors="backslashreplace")


class AuditTopicSource(DataSource):
    """Spark's data source for the format ``NAME``.

    Options: ``path``, the address; ``commandConfig``, a client's settings;
    ``maxOffsetsPerTrigger``.
    """

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SPANS

    def streamReader(self, schema: StructType) -> AuditTopicReader:  # noqa: N802 - Spark's name
        config = self.options.get("commandConfig")
        topic = opened_topic(self.options["path"], None if config is None else Path(config))
        return AuditTopicReader(topic, int(self.options["maxOffsetsPerTrigger"]))


class _SpansPartition(InputPartition):
    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = spans


class AuditTopicReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the stream, from the topic's first record on.

    A stream's offset has the topic's id, and for each partition (the number as text) the first
    offset that is not read yet.
    """

    def __init__(self, topic: PartitionedTopic, most: int) -> None:
        self._topic = topic
        self._most = most
        self._target: dict[int, TopicEnds] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        starts = {str(number): ends.start for number, ends in self._topic.ends().items()}
        return {_ID: self._topic.id(), **starts}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadMaxRows(self._most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._target = self._topic.ends()

    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, Any], limit: ReadLimit
    ) -> dict[str, Any]:
        if self._topic.id() != start[_ID]:
            raise InvalidSource(
                f"{self._topic.address}: the topic was deleted and created again since the"
                " last run; use another folder"
            )
        ends = self._topic.ends() if self._target is None else self._target
        new = []
        for number, end in ends.items():
            begin = start.get(str(number), 0)
            if end.stable < begin:
                raise InvalidSource(
                    f"{self._topic.address}: partition {number} ends at offset {end.stable}, and"
                    f" was read up to {begin}: its cluster lost records; use another folder"
                )
            new.append(Span(number, min(max(begin, end.start), end.stable), end.stable))
        return start | {str(span.partition): span.past for span in _shared(new, limit)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        spans = [
            Span(int(number), start.get(number, 0), past)
            for number, past in end.items()
            if number != _ID and start.get(number, 0) < past
        ]
        return [_SpansPartition(spans)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, int, int]]:
        if isinstance(partition, _SpansPartition):
            yield from partition.spans


def _shared(spans: Collection[Span], limit: ReadLimit) -> Iterator[Span]:
    """The ``spans``, each cut to its share of ``limit``. Longer spans share what shorter spans do
    not need."""
    if not isinstance(limit, ReadMaxRows):
        yield from spans
        return
    left = limit.max_rows
    for sharing, span in zip(
        range(len(spans), 0, -1),
        sorted(spans, key=lambda span: span.past - span.first),
        strict=True,
    ):
        past = min(span.past, span.first + left // sharing)
        left -= past - span.first
        yield span._replace(past=past)
