"""The tables of a pipeline's folder: names, schemas and partitions.

Findings read these tables, not the log or audit lines. Times are UTC with microseconds.
Offsets of the metadata log are exclusive: the state *at* an offset is the state after all records
below this offset. Enum members have Kafka's upper-case names. This module must not know Spark, nor
how a table is filled.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_ACL: Final = (
    "resource_type STRING, resource_name STRING, pattern_type STRING, principal STRING,"
    " host STRING, operation STRING, permission_type STRING"
)
_QUESTION: Final = (
    "principal STRING, host STRING, operation STRING,"
    " resource_type STRING, resource_name STRING, pattern_type STRING"
)
_REQUEST: Final = (
    f"time TIMESTAMP, broker STRING, {_QUESTION},"
    " request_name STRING, resource_reference_count INT, result STRING, rule STRING,"
    " ambiguous BOOLEAN, file STRING, line BIGINT"
)
_DECIDED: Final = "log_offset BIGINT, decided STRING, decided_rule STRING, acl_id STRING"


class TableSchema(NamedTuple):
    """``schema`` is in Spark's DDL, and ends with the columns of ``partitions``. A table without
    own files is stored in the table ``within``, which has more columns."""

    name: str
    schema: str
    partitions: tuple[str, ...] = ()
    within: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.split()[0] for column in self.schema.split(", "))


HISTORY: Final = TableSchema(
    "history",
    "source STRING, kind STRING, from_offset BIGINT, to_offset BIGINT,"
    " from_time TIMESTAMP, to_time TIMESTAMP, why STRING",
)
"""One row per known or unknown range of the log.

``kind`` is KNOWN, GAP or DAMAGED (skipped). ``why`` says why a range is unknown. An unknown range
begins and ends at the times of the known ranges beside it. ``source`` is the whole argument of
``--log``, because a known range can extend over many folders.
"""

ACL_CHANGELOG: Final = TableSchema(
    "acl_changelog",
    f"id STRING, {_ACL}, from_offset BIGINT, from_time TIMESTAMP, from_known BOOLEAN,"
    " to_offset BIGINT, to_time TIMESTAMP, to_known BOOLEAN, source STRING",
)
"""One row per lifetime of an ACL.

``from_*`` is null if the lifetime began before the history. ``to_*`` is null if the lifetime has
not ended. ``from_known`` is false if the lifetime began in an unknown range; then ``from_*`` is the
range's end. ``to_known`` is false if the lifetime ended in an unknown range; then ``to_*`` is the
range's start. ``source`` is the folder, file or topic in which the ACL first appears.
"""

REQUESTS: Final = TableSchema("requests", f"{_REQUEST}, day DATE", ("day",), within="decisions")
"""One row per usable line of an audit log: a broker's answer, ALLOWED or DENIED.

``rule`` is null in lines of Kafka before StandardAuthorizer. DECISIONS stores the rows, because a
build decides each request when it writes the row.
"""

POSSIBLE: Final = TableSchema(
    "possible_requests",
    f"time TIMESTAMP, broker STRING, {_QUESTION}, result STRING, file STRING, line BIGINT,"
    " zone STRING",
)
"""Readings of lines that are cut off, and of ambiguous lines, except the likeliest reading, which
is in REQUESTS.

``zone`` is set if clocks in this zone showed the line's time twice, and nothing else is in doubt:
``time`` is the second time, and REQUESTS has the first. ``pattern_type`` is PREFIXED if a cut line
does not show where the name ends: ``resource_name`` can lack the name's end, or have text after the
name.
"""

REJECTED: Final = TableSchema("rejected", "file STRING, line BIGINT, text STRING, reason STRING")
"""Unusable lines."""

FILES: Final = TableSchema(
    "files",
    "path STRING, length BIGINT, modified TIMESTAMP, file STRING, same STRING, lines BIGINT,"
    " head BIGINT, days ARRAY<DATE>",
)
"""The audit files that were read.

``file`` is the file's name in other tables. ``same`` is set if other tables leave out the
lines: the file ``same`` begins in the same way and is not shorter. ``head`` is a fingerprint of the
file's beginning.
"""

COVERAGE: Final = TableSchema(
    "coverage",
    "broker STRING, hour TIMESTAMP, allowed BIGINT, denied BIGINT, state STRING,"
    " controller BOOLEAN, ambiguous BIGINT, day DATE",
)
"""Per broker and hour, the numbers of ``allowed``, ``denied`` and ``ambiguous`` lines.

``state`` says what the broker logs. Kafka logs allowed requests only at DEBUG.

- BOTH: an unambiguous line shows an allowed request, and no line of the hour was deleted unread.
- DENIALS_ONLY: there are lines, but the state is not BOTH.
- NOTHING: there are no lines. Findings count an hour without a row as NOTHING.

``controller``: a line that made the state BOTH is of a kind that only a controller writes. A
silence of more than a year has no rows, because a broker's clock can have been wrong (year 9999).
"""

DECISIONS: Final = TableSchema(
    "decisions", f"{_REQUEST}, {_DECIDED}, known BOOLEAN, disagrees BOOLEAN, day DATE", ("day",)
)
"""Every request, decided again by the ACLs and the configuration in force at its time.

``log_offset`` is the offset after the last change that can concern the request. From this offset up
to the request, the same ACLs match. If no ACL matches, the resource has ACLs during all this time,
or never. So equal requests of a day mostly have the same offset.

``known`` is false in a gap and before the history begins. ``disagrees``: our answer differs from
the broker's answer; null if ``known`` is false. ``acl_id`` is null if no ACL decided.
"""

USAGE: Final = TableSchema(
    "usage",
    f"{_QUESTION}, result STRING, {_DECIDED}, known BOOLEAN, requests BIGINT,"
    " first_time TIMESTAMP, last_time TIMESTAMP, day DATE",
    ("day",),
)
"""One row per day, question and answer, with the number of such rows in DECISIONS. For whole days,
findings read this smaller table."""

CONFIGURATION: Final = TableSchema(
    "configuration",
    "from_time TIMESTAMP, to_time TIMESTAMP, super_users ARRAY<STRING>, allow_everyone BOOLEAN,"
    " kafka_version STRING, source STRING",
)
"""The configuration over time. ``kafka_version`` is ``4.3`` or ``4.4``; null means ``4.3``. Null
times are open ends."""

WAITING: Final = TableSchema("waiting", f"{_REQUEST}, day DATE")
"""Rows of REQUESTS that ``metalog pipeline follow`` has read but not decided yet, because the log
is not known up to the rows' times."""

DENIALS: Final = TableSchema(
    "denials",
    "principal STRING, since TIMESTAMP, denied BIGINT,"
    " operation STRING, resource_type STRING, resource_name STRING",
)
"""The denials of a principal that ``follow`` counted in the five minutes from ``since`` on.

``operation`` and the resource are those of the most frequent denial in the latest batch that has
denials of the principal in these five minutes.
"""

ALERTS: Final = TableSchema(
    "alerts",
    f"batch BIGINT, time TIMESTAMP, kind STRING, severity STRING, {_ACL}, message STRING,"
    " remedy STRING, log_offset BIGINT",
)
"""The alerts of ``follow``, by batch.

An alert without an ACL can have a principal, but no other field of an ACL. ``log_offset`` is the
first offset at which the ACL exists.
"""

TABLES: Final = {
    table.name: table
    for table in (
        HISTORY,
        ACL_CHANGELOG,
        REQUESTS,
        POSSIBLE,
        REJECTED,
        FILES,
        COVERAGE,
        DECISIONS,
        USAGE,
        CONFIGURATION,
        WAITING,
        DENIALS,
        ALERTS,
    )
}
