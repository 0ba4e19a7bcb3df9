"""Says for each ACL whether the requests of a window used it, and which ACL decided in its place.

docs/reference/unused-acls.md has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.analysis.lint.finding import Severity
from authorizer.analysis.remedies.commands import CommandKind
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow
from metalog.acl import words_of
from metalog.ids import uuid_text
from metalog_spark.findings.producers import RequestOrigin, kept_for_producers, unseen_in
from metalog_spark.findings.remedy import commands, too_open
from metalog_spark.findings.usage.acl_lifetimes import ACL_SQL, ACL_STRUCT
from metalog_spark.findings.usage.usage_classes import (
    Conditions,
    ObservedUse,
    Reason,
    UsageState,
    Verdict,
    verdicts,
)
from metalog_spark.findings.usage.usage_counts import counted
from metalog_spark.findings.windows.answers import answers_in
from metalog_spark.findings.windows.request_rows import unseen_command
from metalog_spark.findings.windows.state import acls_now, config_now, known_from_ms
from metalog_spark.findings.windows.window import (
    GIVE_CONTROLLERS,
    coverage_in,
    refuse_without_allowed,
)
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.derived_values import kept_until_commit, query_threads
from metalog_spark.store.tables import USAGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from authorizer.config import AuthorizerConfig
    from metalog.acl import Acl
    from metalog_spark.findings.usage.acl_lifetimes import AclLifetimes
    from metalog_spark.findings.windows.window import Window, WindowCoverage
    from metalog_spark.store.table_store import Tables

SCHEMA: Final = (
    f"id STRING, {ACL_SQL}, since TIMESTAMP, alive BOOLEAN, observed STRING, state STRING,"
    " reason STRING, requests BIGINT, first_use TIMESTAMP, last_use TIMESTAMP, matched BIGINT,"
    f" shadow {ACL_STRUCT}, can_go BOOLEAN, severity STRING, remedy STRING"
)
"""A row for each ACL in force at some time in the window. ``observed`` is an ``ObservedUse``,
``state`` a ``UsageState``. If ``state`` is UNKNOWN, ``reason`` is a ``Reason``. ``requests`` counts
the window's requests that the ACL decided. ``matched`` counts the window's requests that the ACL
matches and whose deciding ACL is certain. ``last_use`` is the last known use in the whole folder.
``shadow`` is the ACL that most often decided instead of a SHADOWED ACL. If all ACLs with
``can_go`` are removed, no answer of the window changes."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_REMEDIES: Final = {
    Reason.YOUNGER: (
        "look again over a window that begins after the ACL was added (if it is not known when,"
        " after the metadata log begins); or give a copy of the metadata log with older records"
    ),
    Reason.GAP: "fill the gap in the archive of the metadata log",
    Reason.WAITS: "look again when metalog pipeline follow has decided the waiting requests, and "
    "was then stopped with Ctrl-C or SIGTERM",
    Reason.AMBIGUOUS: (
        "look again over a window without ambiguous lines and half lines; {unseen} lists them"
    ),
    Reason.DISAGREES: "find out why brokers decided differently from the log",
    Reason.WAS_SUPER: "look again over a window without requests of a former super user",
    Reason.SHADOW_GONE: "keep it: an ACL that decided in its place is gone",
    Reason.COVERAGE: "log allowed requests on every broker, and look again",
    Reason.CONTROLLER: GIVE_CONTROLLERS,
    Reason.UNLOGGED: (
        "keep it, or grant IDEMPOTENT_WRITE on the cluster: this ACL also allows an idempotent"
        " producer to start (InitProducerId), which Kafka does not log"
    ),
    Reason.OPENS: "set allow.everyone.if.no.acl.found to false first",
}


class Totals(NamedTuple):
    """Numbers of ALLOWs in force at the end of the history. ``requests`` counts the requests of
    the window."""

    grants: int
    used: int
    can_go: int
    unknown: int
    requests: int


class ClassifiedAcls(NamedTuple):
    """The verdicts for the ACLs of the window, small enough for a driver.

    ``today`` and ``config`` are in force at the end of the history. ``last_uses`` has the last uses
    in the whole folder (microseconds since 1970). ``unlogged`` clients can have started a producer
    without an audit line. The command in ``unseen_command`` prints unreadable and ambiguous lines.
    """

    verdicts: tuple[Verdict, ...]
    seen: WindowCoverage
    requests: int
    dangers: Mapping[Acl, Severity]
    today: tuple[Acl, ...]
    config: AuthorizerConfig
    last_uses: Mapping[Acl, int]
    unlogged: frozenset[RequestOrigin]
    unseen_command: str

    @property
    def totals(self) -> Totals:
        grants = [
            verdict for verdict in self.verdicts if verdict.is_alive and is_allow(verdict.acl)
        ]
        states = [verdict.state for verdict in grants]
        return Totals(
            len(grants),
            states.count(UsageState.USED),
            sum(verdict.can_go for verdict in grants),
            states.count(UsageState.UNKNOWN),
            self.requests,
        )

    def advice(self, verdict: Verdict) -> tuple[Severity, str | None]:
        danger = self.dangers.get(verdict.acl, Severity.INFO)
        return _advice(verdict, danger, self.unseen_command)

    def last_use(self, verdict: Verdict) -> int | None:
        """The time of the last known use in the whole folder, in microseconds since 1970."""
        inside = None if verdict.uses is None else verdict.uses.last_us
        return self.last_uses.get(verdict.acl, inside)


def unused(tables: Tables, window: Window, *, tolerated: float = 0.0) -> DataFrame:
    """Rows of ``SCHEMA``. No ALLOW is UNUSED if the share of broker-hours with lost lines, or
    without allowed lines, is greater than ``tolerated``.

    Raises:
        InvalidRequest: no allowed line in the window is certain.
    """
    found = classified_acls(tables, window, tolerated=tolerated)
    rows = [_row(verdict, found) for verdict in found.verdicts]
    return frame_of(tables.session, rows, SCHEMA)


def classified_acls(tables: Tables, window: Window, *, tolerated: float = 0.0) -> ClassifiedAcls:
    return _classified(tables, window, tolerated)


@kept_until_commit
def _classified(tables: Tables, window: Window, tolerated: float) -> ClassifiedAcls:
    config, today = config_now(tables), tuple(acls_now(tables))
    with query_threads() as threads:
        coverage = threads.submit(coverage_in, tables, window)
        answered = threads.submit(answers_in, tables, window)
        used = threads.submit(counted, tables, window)
        started = threads.submit(unseen_in, tables, window)
        seen = coverage.result()
        refuse_without_allowed(seen, window)
        answers, (lifetimes, tally), unlogged = answered.result(), used.result(), started.result()
    facts = conditions(seen, window, config, tolerated, known_from_ms(tables))
    by_requests = tuple(verdicts(lifetimes, tally, facts))
    classified = tuple(_keeping_producers(by_requests, today, unlogged, config.kafka))
    dangers = too_open((verdict.acl for verdict in classified), config)
    return ClassifiedAcls(
        classified,
        seen,
        answers,
        dangers,
        today,
        config,
        _last_uses(tables, lifetimes),
        unlogged,
        unseen_command(tables),
    )


def _keeping_producers(
    all_verdicts: Sequence[Verdict],
    today: Iterable[Acl],
    unlogged: Iterable[RequestOrigin],
    kafka: KafkaVersion,
) -> Iterator[Verdict]:
    going = {verdict.acl: verdict.matched for verdict in all_verdicts if verdict.can_go}
    kept = kept_for_producers(unlogged, today, going, kafka)
    for each in all_verdicts:
        is_needed = each.acl in kept
        yield each._replace(state=UsageState.UNKNOWN, reason=Reason.UNLOGGED) if is_needed else each


def _last_uses(tables: Tables, lifetimes: AclLifetimes) -> dict[Acl, int]:
    """The last use of each ACL, in microseconds since 1970. If several ACLs had the same id, uses
    of this id are left out, because USAGE does not say which ACL decided."""
    by_id = _last_uses_by_id(tables)
    last_uses: dict[Acl, int] = {}
    for acl_id, acl in lifetimes.owners_of_ids().items():
        if acl_id in by_id:
            last_uses[acl] = max(by_id[acl_id], last_uses.get(acl, 0))
    return last_uses


@kept_until_commit
def _last_uses_by_id(tables: Tables) -> dict[str, int]:
    from pyspark.sql import functions as f

    used = tables.read(USAGE).where("known AND decided = result AND acl_id IS NOT NULL")
    latest = used.groupBy("acl_id").agg(f.unix_micros(f.max("last_time")))
    return dict(map(tuple, latest.collect()))


def conditions(
    seen: WindowCoverage,
    window: Window,
    config: AuthorizerConfig,
    tolerated: float,
    known_from_ms: int | None,
) -> Conditions:
    return Conditions(
        window.start_us // 1000,
        window.end_us // 1000,
        known_from_ms,
        seen.share_without_allowed <= tolerated,
        seen.share_without_lines <= tolerated,
        seen.share_without_controller <= tolerated,
        config.allow_everyone,
    )


def _row(verdict: Verdict, found: ClassifiedAcls) -> tuple[Any, ...]:
    lifetime = verdict.lifetimes[-1]
    uses, last_us = verdict.uses, found.last_use(verdict)
    severity, remedy = found.advice(verdict)
    return (
        uuid_text(lifetime.id),
        *words_of(verdict.acl),
        None if lifetime.begin is None else time_of(lifetime.begin.time_ms * 1000),
        verdict.is_alive,
        verdict.observed.value,
        verdict.state.value,
        None if verdict.reason is None else verdict.reason.value,
        0 if uses is None else uses.requests,
        None if uses is None else time_of(uses.first_us),
        None if last_us is None else time_of(last_us),
        verdict.matched,
        None if verdict.shadow is None else words_of(verdict.shadow),
        verdict.can_go,
        severity.name,
        remedy,
    )


def _advice(verdict: Verdict, danger: Severity, unseen_command: str) -> tuple[Severity, str | None]:
    if verdict.reason is not None:
        return Severity.INFO, _REMEDIES[verdict.reason].format(unseen=unseen_command)
    if verdict.state is UsageState.USED or not verdict.is_alive:
        return Severity.INFO, None
    if not is_allow(verdict.acl):
        return Severity.INFO, "a precaution, or a typo: read it before you remove it"
    severity = Severity.WARNING if verdict.observed is ObservedUse.ONLY_DENIED else Severity.INFO
    return max(severity, danger), commands([(CommandKind.REMOVE, verdict.acl)])


def time_of(us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=us)
