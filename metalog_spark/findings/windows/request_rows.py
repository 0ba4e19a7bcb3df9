"""Lists the requests behind findings: all that match a filter, or the first requests of each row.

This module must not know how requests are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa  # Spark reads the type hints of functions for workers

from authorizer.analysis.remedies.commands import quoted
from metalog.errors import InvalidRequest
from metalog.ids import parse_uuid, uuid_text
from metalog_sources.moment import time_text
from metalog_spark.findings.usage.acl_lifetimes import matching
from metalog_spark.findings.windows.answers import askable
from metalog_spark.findings.windows.questions import QUESTION_COLUMNS, rules
from metalog_spark.findings.windows.state import config_now, lifetimes_in
from metalog_spark.findings.windows.window import DAY_US
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.tables import DECISIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from authorizer.history.timeline import AclLifetime
    from metalog.acl import Acl
    from metalog_spark.findings.windows.window import Window
    from metalog_spark.store.table_store import Tables

COLUMNS: Final = (
    "time", "broker", "principal", "host", "operation", "resource_type", "resource_name",
    "result", "decided", "acl_id", "known", "file", "line",
)  # fmt: skip
FIRST: Final = 10
"""The most requests that a finding shows."""
_ORDER: Final = ("time", "file", "line")
_LITERAL: Final = "LITERAL:"
"""The command takes this beginning of a name for a pattern type, as in an audit line."""
_IS_USE: Final = "known AND decided = result"
"""A condition: the request is a use of the ACL ``acl_id``."""


class RequestFilter(NamedTuple):
    """The conditions on a request; None matches anything.

    - ``acl_id``: an id of the deciding ACL. Without ``disagrees``, only requests that the broker
      answered as this ACL decides.
    - ``matches``: an id of a matching ACL.
    - ``disagrees``: the broker's answer differs from the ACLs' decision.
    """

    principal: str | None = None
    operation: str | None = None
    resource_type: str | None = None
    resource_name: str | None = None
    host: str | None = None
    broker: str | None = None
    result: str | None = None
    acl_id: str | None = None
    matches: str | None = None
    disagrees: bool = False

    def options(self) -> str:
        """The options of ``metalog pipeline requests``, quoted for a shell."""
        words = [
            f"--{name}={quoted(value)}" if value.startswith("-") else f"--{name} {quoted(value)}"
            for name in ("principal", "operation", "host", "broker", "result")
            if (value := getattr(self, name)) is not None
        ]
        if self.resource_type is not None:
            name = self.resource_name or ""
            name = f"{_LITERAL}{name}" if name.startswith(_LITERAL) else name
            words.append(f"--resource {quoted(f'{self.resource_type}:{name}')}")
        if self.acl_id is not None:
            words.append(f"--acl {quoted(self.acl_id)}")
        if self.matches is not None:
            words.append(f"--matches {quoted(self.matches)}")
        return " ".join([*words, *["--disagrees"] * self.disagrees])


_UNCOUNTED_MATCHES: Final = ("GAP", "DISAGREES", "WAS_SUPER")
"""With these reasons, an ACL can match requests although its ``matched`` is 0."""


def of_acl(acl_id: str, decided: int, matched: int, reason: str | None) -> RequestFilter | None:
    """The filter for a row of ``unused``: the requests that the ACL decided, or else the requests
    that the ACL matches. None if there are no requests."""
    if decided:
        return RequestFilter(acl_id=acl_id)
    is_matched = matched or reason in _UNCOUNTED_MATCHES
    return RequestFilter(matches=acl_id) if is_matched else None


def requests_in(tables: Tables, window: Window, wanted: RequestFilter) -> DataFrame:
    """``COLUMNS`` of the requests of ``window`` that match ``wanted``, in order of time."""
    from pyspark.sql import functions as f

    rows = _decided(tables, window)
    for name, value in wanted._asdict().items():
        if value is not None and name not in ("acl_id", "matches", "disagrees"):
            rows = rows.where(f.col(name) == f.lit(value))
    if wanted.acl_id is not None:
        rows = rows.where(_is_decided_by(tables, wanted.acl_id))
        rows = rows if wanted.disagrees else rows.where(_IS_USE)
    rows = rows.where("disagrees") if wanted.disagrees else rows
    if wanted.matches is not None:
        rows = askable(rows).where(_is_matched(tables, wanted.matches))
    return rows.select(*COLUMNS).orderBy(*_ORDER)


def acls_with_id(tables: Tables, acl_id: str) -> Mapping[Acl, Sequence[AclLifetime]]:
    """The ACLs that ever had this id, each with all its lifetimes.

    Raises:
        InvalidRequest: no ACL had this id.
        ValueError: ``acl_id`` is not a Kafka UUID.
    """
    uuid = parse_uuid(acl_id)
    found = {
        acl: own
        for acl, own in lifetimes_in(tables).by_acl.items()
        if any(lifetime.id == uuid for lifetime in own)
    }
    if not found:
        raise InvalidRequest(f"no ACL of {tables.path} has the id {acl_id}")
    return found


def _is_decided_by(tables: Tables, acl_id: str) -> str:
    """A condition: the ACL with this id decided. The ACL's other ids count, too, unless several
    ACLs had this id. An ACL gets another id if it is removed and created again."""
    acls = acls_with_id(tables, acl_id)
    if len(acls) > 1:
        return f"acl_id = '{acl_id}'"
    return " OR ".join(_is_within(life) for own in acls.values() for life in own)


def _is_within(life: AclLifetime) -> str:
    begin = 0 if life.begin is None else life.begin.at
    begun = f"acl_id = '{uuid_text(life.id)}' AND log_offset >= {begin}"
    return begun if life.end is None else f"{begun} AND log_offset < {life.end.at}"


def _is_matched(tables: Tables, acl_id: str) -> Column:
    from pyspark.sql.pandas.functions import arrow_udf

    acls, kafka = acls_with_id(tables, acl_id), config_now(tables).kafka
    wanted_acls = rules(acls, config_now(tables))

    def is_matched(*columns: pa.Array) -> pa.Array:
        index, known = wanted_acls.opened.acl_index, dict[tuple[str, ...], bool]()
        results = []
        for request in zip(*(column.to_pylist() for column in columns), strict=True):
            if request not in known:
                known[request] = bool(matching(index, request, kafka))
            results.append(known[request])
        return pa.array(results, pa.bool_())

    return arrow_udf(is_matched, "BOOLEAN")(*QUESTION_COLUMNS)  # type: ignore[call-overload,no-any-return]  # its stub has no hints


def command_for(tables: Tables, window: Window, wanted: RequestFilter) -> str:
    start, end = (time_text(us // 1000) for us in window)
    place = quoted(str(tables.path))
    return f"metalog pipeline requests {place} --from {start} --to {end} {wanted.options()}"


def unseen_command(tables: Tables) -> str:
    """The command that prints the unreadable and ambiguous lines of any time."""
    return f"metalog pipeline report {quoted(str(tables.path))} --section unseen"


def with_commands(
    tables: Tables,
    window: Window,
    rows: Iterable[Mapping[str, Any]],
    of: Callable[[Mapping[str, Any]], RequestFilter | None],
) -> list[Mapping[str, Any]]:
    """The ``rows``. A row with requests gets the ``command`` that prints the requests."""
    with_command: list[Mapping[str, Any]] = []
    for row in rows:
        wanted = of(row)
        command = {} if wanted is None else {"command": command_for(tables, window, wanted)}
        with_command.append({**row, **command})
    return with_command


def with_first(
    tables: Tables,
    window: Window,
    rows: Sequence[Mapping[str, Any]],
    by: Sequence[str],
    **fixed: Any,
) -> list[dict[str, Any]]:
    """The ``rows``, each with the ``command`` for its requests, and with ``requests_first``.

    The requests of a row have the row's values in the columns ``by``, and the values ``fixed``. An
    ``acl_id`` stands for all ids of its ACL, and selects only uses of the ACL.
    """
    firsts = _first(tables, window, rows, by, **fixed) if rows else {}
    completed = []
    for row in rows:
        key = tuple(row[name] for name in by)
        wanted = RequestFilter(**dict(zip(by, key, strict=True)), **fixed)
        command = command_for(tables, window, wanted)
        completed.append({**row, "command": command, "requests_first": firsts.get(key, [])})
    return completed


def _first(
    tables: Tables,
    window: Window,
    rows: Sequence[Mapping[str, Any]],
    by: Sequence[str],
    **fixed: Any,
) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    from pyspark.sql import Window as Ordered
    from pyspark.sql import functions as f

    keys = {tuple(row[name] for name in by) for row in rows}
    wanted = frame_of(tables.session, sorted(keys), ", ".join(f"{name} STRING" for name in by))
    number = f.row_number().over(Ordered.partitionBy(*by).orderBy(*_ORDER))
    decided = requests_in(tables, window, RequestFilter(**fixed))
    if "acl_id" in by:
        place = by.index("acl_id")
        uses = decided.where(_IS_USE)
        decided = _as_if_decided_by(uses, tables, {key[place] for key in keys})
    first = (
        decided.join(f.broadcast(wanted), [*by], "left_semi")
        .withColumn("number", number)
        .where(f.col("number") <= FIRST)
        .orderBy(*by, "number")
        .withColumn("us", f.unix_micros("time"))
    )
    firsts: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in first.drop("time").collect():
        firsts.setdefault(tuple(row[name] for name in by), []).append(row.asDict())
    return firsts


def _as_if_decided_by(rows: DataFrame, tables: Tables, acl_ids: Collection[str]) -> DataFrame:
    """``rows``, in which each id in ``acl_ids`` replaces the other ids of its ACL."""
    from pyspark.sql import functions as f

    owners = lifetimes_in(tables).owners_of_ids()
    wanted = {owners[acl_id]: acl_id for acl_id in acl_ids if acl_id in owners}
    others = sorted((each, wanted[acl]) for each, acl in owners.items() if acl in wanted)
    ids = frame_of(tables.session, others, "acl_id STRING, wanted STRING")
    renamed = rows.join(f.broadcast(ids), "acl_id", "left")
    return renamed.withColumn("acl_id", f.coalesce("wanted", "acl_id")).select(*rows.columns)


def _decided(tables: Tables, window: Window) -> DataFrame:
    from pyspark.sql import functions as f

    time, day = f.unix_micros("time"), f.unix_date("day") * DAY_US
    is_of_days = (day > window.start_us - DAY_US) & (day < window.end_us)
    is_inside = (time >= window.start_us) & (time < window.end_us)
    return tables.read(DECISIONS).where(is_of_days & is_inside)
