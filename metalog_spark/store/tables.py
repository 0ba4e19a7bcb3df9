"""The tables of a pipeline's folder: names, schemas and partitions.

A folder that ``build`` made holds one Parquet table a name below; every finding reads these
and nothing else. Times are UTC with microseconds, offsets are those of the metadata log and
exclusive, as in a snapshot's name: the state *at* an offset is that after all records below it.
Names of enums are Kafka's upper-case ones. This module must not know Spark, nor how a table
is filled: a schema is text in Spark's DDL.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_ACL: Final = (
    "resource_type STRING, resource_name STRING, pattern_type STRING, principal STRING,"
    " host STRING, operation STRING, permission_type STRING"
)
_ASKED: Final = (
    "principal STRING, host STRING, operation STRING,"
    " resource_type STRING, resource_name STRING, pattern_type STRING"
)
_REQUEST: Final = (
    f"time TIMESTAMP, broker STRING, {_ASKED},"
    " request_name STRING, resource_reference_count INT, result STRING, rule STRING,"
    " ambiguous BOOLEAN, file STRING, line BIGINT"
)
_DECIDED: Final = "log_offset BIGINT, decided STRING, decided_rule STRING, acl_id STRING"


class TableSchema(NamedTuple):
    """``schema`` is in Spark's DDL, with the columns of ``partitions`` at its end. Where a table
    has no files of its own, its rows are those of the table ``within``, with fewer columns."""

    name: str
    schema: str
    partitions: tuple[str, ...] = ()
    within: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(column.split()[0] for column in self.schema.split(", "))


HISTORY: Final = TableSchema(
    "history",
    "source STRING, kind STRING, from_offset BIGINT, to_offset BIGINT,"
    " from_time TIMESTAMP, to_time TIMESTAMP, why STRING",
)
"""What of the log was seen: one row a stretch. ``kind`` is KNOWN, GAP (nobody has it) or
DAMAGED (it was skipped, ``why`` says what is wrong); times are those of the batches beside it.
``source`` is what ``--log`` named: a stretch may run through a hundred folders, and a gap is in
none of them."""

ACL_CHANGELOG: Final = TableSchema(
    "acl_changelog",
    f"id STRING, {_ACL}, from_offset BIGINT, from_time TIMESTAMP, from_known BOOLEAN,"
    " to_offset BIGINT, to_time TIMESTAMP, to_known BOOLEAN, source STRING",
)
"""One row per life of an ACL. ``from_*`` is null where it began before the history does,
``to_*`` where it still lasts; ``*_known`` is false where that edge fell into a gap, whose end
(for from) or start (for to) stands for it. ``source`` is the folder, file or topic that saw it
come, or that is the first to have it."""

REQUESTS: Final = TableSchema("requests", f"{_REQUEST}, day DATE", ("day",), within="decisions")
"""One row per line of an audit log: what a broker answered. ``rule`` is null in lines of Kafka
before StandardAuthorizer; ``result`` is ALLOWED or DENIED. Each is decided as soon as it is
written, so DECISIONS holds them."""

POSSIBLE: Final = TableSchema(
    "possible_requests",
    f"time TIMESTAMP, broker STRING, {_ASKED}, result STRING, file STRING, line BIGINT,"
    " zone STRING",
)
"""Requests that may have been: each reading of a line that can be read in several ways but the
likeliest, which is in REQUESTS, and what a half line may have been. ``zone`` is not null where the
line can be read in one way, and clocks of that zone showed its time twice: ``time`` is the second
time, and REQUESTS has the first. ``pattern_type`` is PREFIXED
where a line breaks off: the resource is any whose name begins so, or that ``resource_name`` begins
with. ``time`` is null where no time is near."""

REJECTED: Final = TableSchema("rejected", "file STRING, line BIGINT, text STRING, reason STRING")
"""The lines that say nothing that can be used, whole, and why."""

FILES: Final = TableSchema(
    "files",
    "path STRING, length BIGINT, modified TIMESTAMP, file STRING, same STRING, lines BIGINT,"
    " head BIGINT, days ARRAY<DATE>",
)
"""The audit files that were read: one that still has its ``length`` and time is not read again.
``file`` is the name that its rows have in other tables, unless it is left out for the ``same``
lines of another. ``head`` is a fingerprint of how it begins, and ``days`` are those of its
requests."""

COVERAGE: Final = TableSchema(
    "coverage",
    "broker STRING, hour TIMESTAMP, allowed BIGINT, denied BIGINT, state STRING,"
    " controller BOOLEAN, ambiguous BIGINT, day DATE",
)
"""Per broker and hour, how many lines of either kind; ``state`` is BOTH, DENIALS_ONLY or
NOTHING: lines that are ``ambiguous`` are counted, and do not make it BOTH, nor does any line
where a topic deleted others before they were read. Kafka logs what it allows only at DEBUG: where
that is missing, nothing is unused. ``controller``: it was BOTH by a line that only a controller
writes. Of a silence of more than a year there are no rows: a broker's clock may have stood at
1970, or at 9999. Hours without a row are as those of NOTHING, and no finding counts either."""

DECISIONS: Final = TableSchema(
    "decisions",
    f"{_REQUEST}, {_DECIDED}, known BOOLEAN, disagrees BOOLEAN, day DATE",
    ("day",),
)
"""Every request, decided again as of its own time: by the ACLs at ``log_offset`` and the
configuration then in force. ``known`` is false in a gap and before the history begins, where
``disagrees`` (our answer is not the broker's) is null. ``acl_id`` is null where no ACL decided."""

USAGE: Final = TableSchema(
    "usage",
    f"{_ASKED}, result STRING, {_DECIDED}, known BOOLEAN, requests BIGINT,"
    " first_time TIMESTAMP, last_time TIMESTAMP, day DATE",
    ("day",),
)
"""``decisions`` without repeats: a row per day and different question and answer, and how
often. Findings read this one, which is smaller by the skew of the traffic."""

CONFIGURATION: Final = TableSchema(
    "configuration",
    "from_time TIMESTAMP, to_time TIMESTAMP, super_users ARRAY<STRING>, allow_everyone BOOLEAN,"
    " kafka_version STRING, source STRING",
)
"""Which super users and default rule held when, and whether ``4.3`` or ``4.4`` decided, null
being the former; null times are open ends."""

WAITING: Final = TableSchema("waiting", f"{_REQUEST}, day DATE")
"""Rows of ``requests`` that ``follow`` has read and not decided yet, since the log is not known
far enough."""

DENIALS: Final = TableSchema(
    "denials",
    "principal STRING, since TIMESTAMP, denied BIGINT,"
    " operation STRING, resource_type STRING, resource_name STRING",
)
"""How often ``follow`` saw a principal denied in the five minutes that begin at ``since``, and
what of the last that were counted was denied most."""

ALERTS: Final = TableSchema(
    "alerts",
    f"batch BIGINT, time TIMESTAMP, kind STRING, severity STRING, {_ACL}, said STRING,"
    " remedy STRING, log_offset BIGINT",
)
"""What ``follow`` told, by which of its batches; the fields of an ACL but the principal are null
where it is about none, the principal too where it is about nobody; ``log_offset`` is the first
that has the ACL."""

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
