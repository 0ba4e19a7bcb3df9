"""Fills the tables HISTORY and ACL_CHANGELOG from a SOURCE.

If the log has several splits, a task scans each. The driver combines the few records that a history
needs. This module must not know how a history is computed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from metalog.ids import uuid_text
from metalog_spark.history.archive import Archive, Logs
from metalog_spark.history.archive_history import (
    ADVICE,
    ChangelogRow,
    HistoryRange,
    RelevantRecord,
    ScannedSplit,
    check_ends,
    history_of,
    scan,
)
from metalog_spark.history.splits import OPEN_END, LogSplit
from metalog_spark.store.arrow import frame_of, in_spark, table_of
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import ACL_CHANGELOG, HISTORY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from authorizer.history.timeline import Edge

_ADVICE: Final = f"{ADVICE}, or leave out the damage by --skip-damaged"
_SCANNED: Final = (
    "piece INT, offset BIGINT, time_ms BIGINT, value BINARY, first_ms BIGINT, damage STRING"
)


def read_changelog(
    session: SparkSession | None,
    logs: Logs,
    *,
    skip_damaged: bool = False,
    warn: Callable[[str], None] = lambda line: None,
) -> tuple[pa.Table, pa.Table, int | None]:
    """The rows of ACL_CHANGELOG and HISTORY for ``logs``, and the last metadata.version.

    Without a ``session``, this process scans all splits. ``warn`` gets the texts of
    ``ArchiveHistory.foreign``. With ``skip_damaged``, damage becomes a row of HISTORY.

    Raises:
        CorruptLog: the log is damaged, and ``skip_damaged`` is false.
    """
    try:
        archive = logs.look()
        scanned = scan_archive(session, archive)
        history = history_of(archive, scanned, skip_damaged=skip_damaged, advice=_ADVICE)
    finally:
        logs.close()
    for line in history.foreign:
        warn(f"{logs.text}: {line}")
    ranges = history_table(history.ranges, logs.text)
    return changelog_table(history.lifetimes), ranges, history.metadata_version


def replace_changelog(tables: Tables, lifetimes: pa.Table, ranges: pa.Table) -> None:
    tables.replace(ACL_CHANGELOG, in_spark(tables.session, lifetimes, ACL_CHANGELOG.schema))
    tables.replace(HISTORY, in_spark(tables.session, ranges, HISTORY.schema))


def check_log(logs: Logs, *, skip_damaged: bool) -> None:
    """Check the ends of ``logs``. Only a read of the whole log finds earlier damage.

    Raises:
        CorruptLog: a log is damaged at its end, and ``skip_damaged`` is false.
    """
    archive = logs.look()
    if not skip_damaged:
        check_ends(archive, _ADVICE)


def scan_archive(session: SparkSession | None, archive: Archive) -> dict[int, ScannedSplit]:
    """The scan of each split, by the split's index in ``archive.parts``. This process scans a
    single split, and all splits without a ``session``."""
    pieces = {
        number: part for number, part in enumerate(archive.parts) if isinstance(part, LogSplit)
    }
    if session is None or len(pieces) < 2:
        return {number: scan(piece) for number, piece in pieces.items()}
    sent = [(number, pickle.dumps(piece)) for number, piece in pieces.items()]
    spread = frame_of(session, sent, "piece INT, pickled BINARY").repartition(len(sent))
    return _gathered(spread.mapInArrow(_scan_sent, _SCANNED))


def _scan_sent(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs on an executor. Yields a row for each relevant record, and for the end of each split."""
    for batch in batches:
        for sent in batch.to_pylist():
            number = sent["piece"]
            scan_result = scan(pickle.loads(sent["pickled"]))  # noqa: S301 - sent by scan_archive
            columns = list(zip(*scan_result.found, strict=True)) or [(), (), ()]
            count = len(scan_result.found)
            yield pa.record_batch(
                {
                    "piece": pa.array([number] * (count + 1), pa.int32()),
                    "offset": pa.array([*columns[0], scan_result.reached], pa.int64()),
                    "time_ms": pa.array([*columns[1], scan_result.latest_ms], pa.int64()),
                    "value": pa.array([*columns[2], None], pa.binary()),
                    "first_ms": pa.array([None] * count + [scan_result.first_ms], pa.int64()),
                    "damage": pa.array([None] * count + [scan_result.damage], pa.string()),
                }
            )


def _gathered(rows: DataFrame) -> dict[int, ScannedSplit]:
    records_by_split: dict[int, list[RelevantRecord]] = {}
    scanned: dict[int, ScannedSplit] = {}
    for row in rows.toArrow().to_pylist():
        records = records_by_split.setdefault(row["piece"], [])
        if row["value"] is not None:
            records.append(RelevantRecord(row["offset"], row["time_ms"], row["value"]))
        else:
            ends = row["offset"], row["first_ms"], row["time_ms"], row["damage"]
            scanned[row["piece"]] = ScannedSplit(records, *ends)
    return {
        number: result._replace(found=sorted(result.found)) for number, result in scanned.items()
    }


def history_rows(session: SparkSession, ranges: Iterable[HistoryRange], source: str) -> DataFrame:
    return in_spark(session, history_table(ranges, source), HISTORY.schema)


def history_table(ranges: Iterable[HistoryRange], source: str) -> pa.Table:
    rows = [
        (
            source,
            each.kind,
            each.start,
            None if each.end >= OPEN_END else each.end,
            _micros(each.start_ms),
            _micros(each.end_ms),
            each.why,
        )
        for each in ranges
    ]
    return table_of(rows, HISTORY.schema)


def changelog_rows(session: SparkSession, lifetimes: Iterable[ChangelogRow]) -> DataFrame:
    return in_spark(session, changelog_table(lifetimes), ACL_CHANGELOG.schema)


def changelog_table(lifetimes: Iterable[ChangelogRow]) -> pa.Table:
    """Rows of ACL_CHANGELOG, in the order in which the ACLs were added."""
    rows = [
        (
            uuid_text(lifetime.id),
            *(value if isinstance(value, str) else value.name for value in lifetime.acl),
            *_edge(lifetime.begin),
            lifetime.begin_known,
            *_edge(lifetime.end),
            lifetime.end_known,
            lifetime.source,
        )
        for lifetime in sorted(lifetimes, key=_by_begin)
    ]
    return table_of(rows, ACL_CHANGELOG.schema)


def _by_begin(lifetime: ChangelogRow) -> tuple[int, bytes]:
    return (-1 if lifetime.begin is None else lifetime.begin.at), lifetime.id


def _edge(edge: Edge | None) -> tuple[int | None, int | None]:
    return (None, None) if edge is None else (edge.at, _micros(edge.time_ms))


def _micros(time_ms: int | None) -> int | None:
    return None if time_ms is None else time_ms * 1000
