"""The tables of a pipeline's folder: names, schemas and partitions.

Findings read these tables, not the log or audit lines. Times are UTC with microseconds.
Offsets belong to the metadata log, and are exclusive, as in a snapshot's name: the state *at* an
offset is the state after all records below it. Enum members have Kafka's upper-case names. This
module must not know Spark, nor how a table is filled: a schema is text in Spark's DDL.
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
    """``schema`` is in Spark's DDL, with the columns of ``partitions`` at its end. A table without
    files of its own has the rows of the table ``within``, with fewer columns."""

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

``kind`` is KNOWN, GAP or DAMAGED (skipped); ``why`` says why a range is not known. An unknown range
has the times of the known ranges beside it. ``source`` is the whole argument of ``--log``, because
a known range can extend over a hundred folders.
"""

ACL_CHANGELOG: Final = TableSchema(
    "acl_changelog",
    f"id STRING, {_ACL}, from_offset BIGINT, from_time TIMESTAMP, from_known BOOLEAN,"
    " to_offset BIGINT, to_time TIMESTAMP, to_known BOOLEAN, source STRING",
)
"""One row per lifetime of an ACL.

``from_*`` is null if the lifetime began before the history, ``to_*`` is null if it has not ended.
If ``from_known`` is false, the lifetime began in a gap, and ``from_*`` is the gap's end. If
``to_known`` is false, the lifetime ended in a gap, and ``to_*`` is the gap's start. ``source`` is
the folder, file or topic with the record that added the ACL, or else the first folder, file or
topic with the ACL.
"""

REQUESTS: Final = TableSchema("requests", f"{_REQUEST}, day DATE", ("day",), within="decisions")
"""One row per usable line of an audit log: a broker's answer.

``rule`` is null in lines of Kafka before StandardAuthorizer; ``result`` is ALLOWED or DENIED.
DECISIONS stores the rows, because a build decides each request when it writes the row.
"""

POSSIBLE: Final = TableSchema(
    "possible_requests",
    f"time TIMESTAMP, broker STRING, {_QUESTION}, result STRING, file STRING, line BIGINT,"
    " zone STRING",
)
"""Possible requests: readings of a line that is cut off, and all readings of an ambiguous line
except the likeliest reading, which is in REQUESTS.

``zone`` is set if the line has only one reading, but clocks in this zone showed the line's time
twice: ``time`` is the second time, and REQUESTS has the first. If a cut line does not show where
the name ends, ``pattern_type`` is PREFIXED: ``resource_name`` can lack the name's end, or have text
after the name. ``time`` is null if no time is known.
"""

REJECTED: Final = TableSchema("rejected", "file STRING, line BIGINT, text STRING, reason STRING")
"""Unusable lines, each with the reason."""

FILES: Final = TableSchema(
    "files",
    "path STRING, length BIGINT, modified TIMESTAMP, file STRING, same STRING, lines BIGINT,"
    " head BIGINT, days ARRAY<DATE>",
)
"""The audit files that were read.

``file`` is the file's name in other tables. If the file is left out of the other tables, ``same``
is another file that begins in the same way and is not shorter. ``head`` is a fingerprint of the
file's beginning, and ``days`` are the days of its requests.
"""

COVERAGE: Final = TableSchema(
    "coverage",
    "broker STRING, hour TIMESTAMP, allowed BIGINT, denied BIGINT, state STRING,"
    " controller BOOLEAN, ambiguous BIGINT, day DATE",
)
"""Per broker and hour, the number of allowed and of denied lines.

``state`` is BOTH if a line certainly shows an allowed request: then both kinds are logged. Else it
is DENIALS_ONLY, or NOTHING if there are no lines. ``ambiguous`` lines do not make the state BOTH;
lines of an hour that came twice are ambiguous. If an audit topic deleted lines before they were
read, the state of their hours is not BOTH. Kafka logs allowed requests only at DEBUG, so without
allowed lines no ALLOW counts as unused. ``controller``: at least one line that made the state BOTH
is a line that only a controller writes. A silence of more than a year has no rows, because a
broker's clock can have been wrong (year 9999). Findings count hours without a row as NOTHING.
"""

DECISIONS: Final = TableSchema(
    "decisions", f"{_REQUEST}, {_DECIDED}, known BOOLEAN, disagrees BOOLEAN, day DATE", ("day",)
)
"""Every request, decided again by the ACLs and the configuration in force at its time.

``log_offset`` is the offset of the last earlier change that concerns the request. From
this change up to the request, the same ACLs match. If no ACL matches, ACLs reach the
resource either all this time or never. So equal requests of a day mostly have the same offset.

``known`` is false in a gap and before the history begins. ``disagrees`` says whether our answer
differs from the broker's; it is null if ``known`` is false. ``acl_id`` is null if no ACL decided.
"""

USAGE: Final = TableSchema(
    "usage",
    f"{_QUESTION}, result STRING, {_DECIDED}, known BOOLEAN, requests BIGINT,"
    " first_time TIMESTAMP, last_time TIMESTAMP, day DATE",
    ("day",),
)
"""One row per day, question and answer, with the number of equal rows of DECISIONS. For whole
days, findings read this table, which is much smaller, because traffic repeats."""

CONFIGURATION: Final = TableSchema(
    "configuration",
    "from_time TIMESTAMP, to_time TIMESTAMP, super_users ARRAY<STRING>, allow_everyone BOOLEAN,"
    " kafka_version STRING, source STRING",
)
"""The super users and ``allow.everyone.if.no.acl.found`` over time, and whether Kafka ``4.3`` or
``4.4`` decided (null is ``4.3``). Null times are open ends."""

WAITING: Final = TableSchema("waiting", f"{_REQUEST}, day DATE")
"""Rows of ``requests`` that ``metalog pipeline follow`` has read but not decided yet, because the
log is not known up to the times of the rows."""

DENIALS: Final = TableSchema(
    "denials",
    "principal STRING, since TIMESTAMP, denied BIGINT,"
    " operation STRING, resource_type STRING, resource_name STRING",
)
"""The number of a principal's denials that ``follow`` counted in the five minutes from ``since``
on, and the most frequent denial of the latest batch."""

ALERTS: Final = TableSchema(
    "alerts",
    f"batch BIGINT, time TIMESTAMP, kind STRING, severity STRING, {_ACL}, message STRING,"
    " remedy STRING, log_offset BIGINT",
)
"""The alerts of ``follow``, by batch.

An alert without an ACL has only the principal among the fields of an ACL. An alert without a
principal has none of these fields. ``log_offset`` is the first offset at which the ACL exists.
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
