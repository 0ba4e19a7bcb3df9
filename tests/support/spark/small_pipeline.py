"""A pipeline's folder with a few rows, whose decisions come from the spec's linear scan.

Times are hours from midnight of 2026-01-01. By default, brokers log everything, and the metadata
log begins at a snapshot of the day before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from authorizer.history.timeline import AclLifetime, Edge
from metalog.acl import Acl, Operation, ResourceType, words_of
from metalog.ids import Uuid, uuid_text
from metalog_spark.store.arrow import table_of
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import (
    ACL_CHANGELOG,
    CONFIGURATION,
    COVERAGE,
    DECISIONS,
    HISTORY,
    USAGE,
    TableSchema,
)
from tests.support.worlds import spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)
_SNAPSHOT = 1
"""The offset at which the log begins."""


def moment(hour: float) -> datetime:
    return START + timedelta(hours=hour)


def edge(hour: float) -> Edge:
    """A change at this hour; its offset is the hour in minutes."""
    return Edge(int(hour * 60), int(moment(hour).timestamp() * 1000))


def life(
    number: int, acl: Acl, begin: float | None = None, end: float | None = None
) -> AclLifetime:
    edges = (None if hour is None else edge(hour) for hour in (begin, end))
    return AclLifetime(Uuid(number.to_bytes(16, "big")), acl, *edges)


class Ask(NamedTuple):
    """Requests within half an hour from ``hour``; ``result`` is the broker's answer if it differs
    from the ACLs'."""

    principal: str
    operation: Operation
    name: str
    hour: float = 1
    times: int = 1
    kind: ResourceType = ResourceType.TOPIC
    host: str = "10.0.0.1"
    result: str | None = None
    known: bool = True


class World(NamedTuple):
    lifetimes: tuple[AclLifetime, ...]
    asks: tuple[Ask, ...] = ()
    days: int = 1
    super_users: tuple[str, ...] = ()
    allow_everyone: bool = False
    brokers: tuple[str, ...] = ("1",)
    dark: frozenset[tuple[str, int]] = frozenset()
    """Brokers' hours with denials, and allowed lines that may be forged."""
    led: frozenset[int] | None = None
    """The hours of the first broker with a controller's lines; None: all hours that are not dark.
    """
    known_from: float = -24
    """The hour of the snapshot."""

    def folder(self, session: SparkSession, path: Path, *only: TableSchema) -> Tables:
        """Make the folder; with ``only``, just these tables."""
        tables = Tables.make(session, path)
        decided = [self._decided(ask) for ask in self.asks]
        offsets = (_SNAPSHOT, max(self._edges(), default=_SNAPSHOT))
        times = (moment(self.known_from), moment(24 * self.days))
        rows = {
            HISTORY: [("test", "KNOWN", *offsets, *times, None)],
            ACL_CHANGELOG: [_life_row(life) for life in self.lifetimes],
            COVERAGE: self._coverage(decided),
            CONFIGURATION: [
                (None, None, list(self.super_users), self.allow_everyone, None, "test")
            ],
            USAGE: _usage(decided),
            DECISIONS: [row for row in decided for row in _both_ends(row)],
        }
        places = {table.name: tables._other_side(table) for table in only or rows}
        for table in only or rows:
            _write(table, rows[table], path / places[table.name])
        tables._note({"places": places})
        return tables

    def _decided(self, ask: Ask) -> dict[str, Any]:
        offset = max((at for at in self._edges() if at <= int(ask.hour * 60)), default=_SNAPSHOT)
        held = [life for life in self.lifetimes if life.holds_at(offset)]
        acls = [life.acl for life in held]
        who = (frozenset({ask.principal}), ask.host)
        decision = spec.decide(acls, who, ask.operation, ask.kind, ask.name, self.allow_everyone)
        is_super = ask.principal in self.super_users
        answer = "ALLOWED" if is_super else decision.result.value
        by = None if is_super else next((each for each in held if each.acl == decision.acl), None)
        return {
            "ask": ask,
            "result": ask.result or answer,
            "log_offset": offset,
            "decided": answer,
            "decided_rule": "SuperUser" if is_super else decision.rule,
            "acl_id": None if by is None else uuid_text(by.id),
        }

    def _edges(self) -> set[int]:
        return {edge.at for life in self.lifetimes for edge in life[2:] if edge is not None}

    def _coverage(self, decided: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
        """The first broker got all requests; the others logged that they got none."""
        lines: Counter[tuple[str, int, str]] = Counter()
        for row in decided:
            ask = row["ask"]
            lines[self.brokers[0], int(ask.hour), row["result"]] += ask.times
        rows = []
        for broker in self.brokers:
            for hour in range(24 * self.days):
                state = "DENIALS_ONLY" if (broker, hour) in self.dark else "BOTH"
                allowed, denied = (lines[broker, hour, word] for word in ("ALLOWED", "DENIED"))
                led = broker == self.brokers[0] and state == "BOTH"
                led &= self.led is None or hour in self.led
                day = moment(hour).date()
                rows.append((broker, moment(hour), allowed, denied, state, led, 0, day))
        return rows


def _write(table: TableSchema, rows: Sequence[tuple[Any, ...]], place: Path) -> None:
    """Write the file that Spark would write; a Spark job takes longer."""
    from pyarrow import parquet

    place.mkdir(parents=True)
    found = table_of(rows, table.schema)
    if table.partitions:
        parquet.write_to_dataset(found, place, partition_cols=list(table.partitions))
    else:
        parquet.write_table(found, place / "rows.parquet")


def _life_row(life: AclLifetime) -> tuple[Any, ...]:
    row: list[Any] = [uuid_text(life.id), *words_of(life.acl)]
    for each in life[2:]:
        row += [each and each.at, each and moment(each.at / 60), True]
    return (*row, "test")


def _usage(decided: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    groups: dict[tuple[Any, ...], list[Ask]] = defaultdict(list)
    for row in decided:
        ask = row["ask"]
        key = (
            *_asked(ask),
            *(row[name] for name in ("result", "log_offset", "decided", "decided_rule", "acl_id")),
            ask.known,
            moment(ask.hour).date(),
        )
        groups[key].append(ask)
    return [
        (
            *key[:-1],
            sum(ask.times for ask in asks),
            moment(min(ask.hour for ask in asks)),
            moment(max(ask.hour for ask in asks) + 0.5),
            key[-1],
        )
        for key, asks in groups.items()
    ]


def _asked(ask: Ask) -> tuple[str, ...]:
    return (ask.principal, ask.host, ask.operation.name, ask.kind.name, ask.name, "LITERAL")


def _both_ends(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Half of the requests at the beginning of their time, the others at its end."""
    ask = row["ask"]
    return [
        (
            moment(ask.hour + (0.5 if number % 2 else 0)),
            "1",
            *_asked(ask),
            "Fetch",
            1,
            row["result"],
            None,
            False,
            "audit.log",
            number,
            *(row[name] for name in ("log_offset", "decided", "decided_rule", "acl_id")),
            ask.known,
            None if not ask.known else row["decided"] != row["result"],
            moment(ask.hour).date(),
        )
        for number in range(ask.times)
    ]
