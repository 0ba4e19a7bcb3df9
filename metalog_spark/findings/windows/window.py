"""The time window of a finding, and how completely audit lines cover the window.

Kafka logs allowed requests only at DEBUG. Each broker is expected to have an allowed line in each
hour; otherwise it is unknown which ALLOWs were used. No line is expected in an hour that came twice
because a clock was set back. Hours before a broker existed look like a lost log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.errors import InvalidMoment, InvalidRequest
from metalog.text.plurals import counted, plural
from metalog_sources.moment import AtOffset, AtTime, BeforeLast, Moment, parse_moment, time_text
from metalog_spark.coverage.coverage import HOUR_US, seen_hours
from metalog_spark.decide.past_log_end import PastLogEnd, later_in
from metalog_spark.findings.windows.pending import (
    Uncounted,
    WaitingRequests,
    uncounted_in,
    waiting_in,
)
from metalog_spark.findings.windows.repeated import (
    RepeatedHours,
    clock_texts,
    repeated_in,
    with_repeated,
)
from metalog_spark.findings.windows.tolerance import tolerance
from metalog_spark.ingest.lines.audit_log import LOST_OFFSETS, NOT_AUDIT_REASONS
from metalog_spark.store.derived_values import kept_until_commit
from metalog_spark.store.refusals import FOLLOWED
from metalog_spark.store.tables import ACL_CHANGELOG, COVERAGE, DECISIONS, REJECTED, USAGE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from metalog_spark.store.table_store import Tables

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAY_US: Final = 24 * HOUR_US
_LAST_DAY_US: Final = (date.max - _EPOCH.date()).days * DAY_US
"""No window ends after the last day of Python's calendar."""

HOW_TO_LOG: Final = (
    "Kafka logs what it allows only at DEBUG: set the logger kafka.authorizer.logger to "
    "level: DEBUG in config/log4j2.yaml (before Kafka 4: "
    "log4j.logger.kafka.authorizer.logger=DEBUG, authorizerAppender in config/log4j.properties), "
    "or on running brokers kafka-configs --alter --entity-type broker-loggers --entity-name ID "
    "--add-config kafka.authorizer.logger=DEBUG"
)
GIVE_CONTROLLERS: Final = (
    "build with the controllers' kafka-authorizer.log, too; only one controller is active at"
    " a time, so give all of them one name by --broker-from"
)


class Window(NamedTuple):
    """The time from ``start_us`` to ``end_us`` (exclusive), in microseconds since 1970."""

    start_us: int
    end_us: int

    @property
    def hours(self) -> int:
        """The number of clock hours that the window touches."""
        return -(-self.end_us // HOUR_US) - self.start_us // HOUR_US

    @property
    def whole_days(self) -> tuple[date, date]:
        """The first whole day, and the day after the last whole day."""
        return _date(-(-self.start_us // DAY_US)), _date(self.end_us // DAY_US)

    @property
    def cut_days(self) -> list[date]:
        """The days that are partly in the window."""
        edges = {edge // DAY_US for edge in self if edge % DAY_US}
        return [_date(day) for day in sorted(edges)]

    def __str__(self) -> str:
        return f"{time_text(self.start_us // 1000)} to {time_text(self.end_us // 1000)}"


class WindowCoverage(NamedTuple):
    """How completely the audit lines cover a window.

    - ``hours``: the sum of the expected hours of all brokers.
    - ``without_allowed``: the hours with lost lines or without an unambiguous allowed line.
    - ``without_any``: the hours without a line.
    - ``worst``: the broker with the most hours in ``without_allowed``.
    - ``clock_hours``: the hours that need an allowed line of a controller.
    - ``without_controller``: the ``clock_hours`` without such an unambiguous line.
    - ``broken``: the number of unreadable audit lines of any time.
    - ``waiting``: the requests that are not decided yet.
    - ``later``: the requests that are newer than the log.
    - ``ambiguous``: the number of lines with several readings.
    - ``clocks``: texts about clocks that were set back.
    """

    hours: int
    without_allowed: int
    without_any: int
    worst: str = ""
    worst_hours: int = 0
    clock_hours: int = 0
    without_controller: int = 0
    broken: int = 0
    waiting: WaitingRequests | None = None
    uncounted: Uncounted | None = None
    later: PastLogEnd | None = None
    ambiguous: int = 0
    repeated: tuple[RepeatedHours, ...] = ()
    clocks: tuple[str, ...] = ()

    @property
    def share_without_allowed(self) -> float:
        return self._share(self.without_allowed)

    @property
    def share_without_lines(self) -> float:
        return self._share(self.without_any)

    @property
    def share_without_controller(self) -> float:
        return self.without_controller / self.clock_hours if self.without_controller else 0.0

    def _share(self, hours: int) -> float:
        return hours / self.hours if self.hours else 1.0

    def text(self) -> str:
        return (
            f"in {self.without_allowed:,} of {counted(self.hours, 'broker-hour')} no line certainly"
            f" shows an allowed request ({broker_text(self.worst)}: {self.worst_hours:,})"
        )

    def controllers_text(self) -> str:
        return (
            f"in {self.without_controller:,} of {counted(self.clock_hours, 'hour')} no line of a"
            " controller certainly shows an allowed request, and only controllers log most requests"
            " for CREATE, DELETE, ALTER, ALTER_CONFIGS and the like"
        )

    def kept_text(self) -> str:
        """``controllers_text`` with the consequence and the remedy."""
        kept = (
            f"{self.controllers_text()}, so no ALLOW for these operations is called unused, and"
            " least-privilege keeps these ALLOWs"
        )
        if self.without_controller == self.clock_hours:
            return f"{kept}; {GIVE_CONTROLLERS}"
        return (
            f"{kept}; build with the controllers' logs of that time, too, or pass --tolerate"
            f" {tolerance(self.share_without_controller)}"
        )

    def ambiguous_text(self) -> str:
        lines = counted(self.ambiguous, "audit line")
        return f"{lines} can be read in several ways, and each way can be a use"

    def broken_text(self) -> str:
        it = plural(self.broken, "it", "each")
        return f"{counted(self.broken, 'audit line')} could not be read, and {it} can be a use"


def broker_text(name: str) -> str:
    return f"broker {name}" if name.isdigit() else name


def window_of(
    tables: Tables,
    start: str | None = None,
    end: str | None = None,
    *,
    say: Callable[[str], None] = lambda text: None,
) -> Window:
    """The window between two moments, as ``--from`` and ``--to`` take them.

    By default the window begins and ends with the audit logs. Every window ends before the first
    request that is not decided or not counted yet. An offset stands for the time of the last ACL
    change up to this offset. ``-30d`` counts back from the end of the audit logs. If such a
    ``start`` is before the audit logs, the window begins with them, and ``say`` gets a message.

    Raises:
        InvalidMoment: ``start`` or ``end`` is not a moment, or is an offset before the first ACL
            change; or the window is empty, or has no counted audit lines.
        InvalidRequest: the folder has no counted audit lines.
    """
    covered = _covered(tables)
    if covered is None:
        raise InvalidRequest(f"{tables.path}: {_why_nothing(tables)}")
    first_us, last_us = covered
    begin = None if start is None else parse_moment(start)
    start_us = first_us if begin is None else _time(tables, begin, last_us)
    if isinstance(begin, BeforeLast) and start_us < first_us:
        start_us = first_us
        say(f"the audit logs begin at {time_text(start_us // 1000)}: {start} is before that")
    end_us = last_us if end is None else _time(tables, parse_moment(end), last_us)
    window = Window(max(0, start_us), min(_LAST_DAY_US, end_us))
    if window.start_us >= window.end_us:
        if end is None:
            first, last = (time_text(us // 1000) for us in window)
            raise InvalidMoment(f"--from {first}: the audit logs end at {last}")
        raise InvalidMoment(f"the window between --from and --to is empty: {window}")
    if window.end_us <= first_us or window.start_us >= last_us:
        raise InvalidMoment(f"no audit lines in {window}; the audit logs cover {covered}")
    if (waiting := waiting_in(tables)) is not None:
        window = _before(window, waiting.first_us, f"decided yet; {waiting.text()}")
    if (uncounted := uncounted_in(tables)) is not None:
        window = _before(window, uncounted.first_us, f"counted yet; {uncounted.text()}")
    return window


@kept_until_commit
def _covered(tables: Tables) -> Window | None:
    """The hours with audit lines, from the first to the last."""
    from pyspark.sql import functions as f

    edges = (f.unix_micros(edge("hour")) for edge in (f.min, f.max))
    [(first_us, last_us)] = tables.read(COVERAGE).agg(*edges).collect()
    return None if first_us is None else Window(first_us, last_us + HOUR_US)


def _before(window: Window, first_us: int, rest: str) -> Window:
    if first_us <= window.start_us:
        raise InvalidMoment(f"no request of {window} is {rest}")
    return window._replace(end_us=min(window.end_us, first_us))


def _why_nothing(tables: Tables) -> str:
    if (uncounted := uncounted_in(tables)) is not None:
        return f"no request is counted yet; {uncounted.text()}"
    if FOLLOWED in tables.facts:
        return (
            "no request is decided yet; metalog pipeline follow decides a request when the log is"
            " known up to --lateness after it"
        )
    return "these tables have no audit line; run metalog pipeline build with --audit"


def _time(tables: Tables, moment: Moment, last_us: int) -> int:
    if isinstance(moment, AtTime):
        return moment.epoch_ms * 1000
    if not isinstance(moment, AtOffset):
        return last_us - moment.back_ms * 1000
    from pyspark.sql import functions as f

    changes = tables.read(ACL_CHANGELOG)
    times = [
        f.max(f.when(f.col(f"{edge}_offset") <= moment.offset, f.unix_micros(f"{edge}_time")))
        for edge in ("from", "to")
    ]
    [row] = changes.agg(*times).collect()
    known = [time for time in row if time is not None]
    if not known:
        raise InvalidMoment(f"no ACL had changed by offset {moment.offset}; write a time instead")
    return int(max(known))


@kept_until_commit
def coverage_in(tables: Tables, window: Window) -> WindowCoverage:
    from pyspark.sql import functions as f

    is_of_all = f.grouping("broker").alias("is_of_all")
    repeated = repeated_in(tables, *window)
    coverage, is_repeated = with_repeated(tables.read(COVERAGE), repeated)
    counts = seen_hours(touched_by(window), is_repeated)
    rows = coverage.rollup("broker").agg(is_of_all, *counts).collect()
    of_brokers = [
        (row["broker"], row["allowed"], row["any"], row["repeated"])
        for row in rows
        if not row["is_of_all"]
    ]
    with_controller, ambiguous, controller_or_repeated = (
        sum(row[name] or 0 for row in rows if row["is_of_all"])
        for name in ("controller", "ambiguous", "controller_or_repeated")
    )
    expected = expected_clock_hours(window.hours, with_controller, controller_or_repeated)
    repeated_lines = sum(number for hours in repeated for _, number in hours.lines)
    return coverage_of(of_brokers, window.hours)._replace(
        clock_hours=expected,
        without_controller=expected - with_controller,
        broken=_broken(tables),
        waiting=waiting_in(tables),
        uncounted=uncounted_in(tables),
        later=later_in(tables, *window),
        ambiguous=max(0, ambiguous - repeated_lines),
        repeated=tuple(repeated),
        clocks=clock_texts(tables.facts, repeated, *window),
    )


def expected_clock_hours(hours: int, with_controller: int, controller_or_repeated: int) -> int:
    """How many of ``hours`` need an allowed line of a controller. ``with_controller`` hours have
    such a line. ``controller_or_repeated`` hours have such a line or came twice."""
    return hours - (controller_or_repeated - with_controller if with_controller else 0)


def touched_by(window: Window) -> Column:
    """A condition: the hour of a row of COVERAGE overlaps the window."""
    from pyspark.sql import functions as f

    hour = f.unix_micros("hour")
    first = window.start_us // HOUR_US * HOUR_US
    return (hour >= f.lit(first)) & (hour < f.lit(window.end_us))


@kept_until_commit
def _broken(tables: Tables) -> int:
    """The number of unreadable audit lines. Each deleted record of a topic counts as one line."""
    from pyspark.sql import functions as f

    reason = f.col("reason")
    first, last = (
        f.regexp_extract(reason, LOST_OFFSETS, group).try_cast("bigint") for group in (1, 2)
    )
    lines = f.when(reason.rlike(LOST_OFFSETS), last - first + 1).otherwise(1)
    broken = tables.read(REJECTED).where(~reason.isin(*NOT_AUDIT_REASONS))
    [row] = broken.agg(f.coalesce(f.sum(lines), f.lit(0))).collect()
    return int(row[0])


def coverage_of(brokers: Sequence[tuple[str, int, int, int]], hours: int) -> WindowCoverage:
    """The coverage of a window of ``hours`` hours. For each broker, ``brokers`` has the name, and
    the numbers of hours with an allowed line, with any line, and without an expected line."""
    expected = [hours - repeated for *_, repeated in brokers]
    missing = [
        (hours_expected - allowed, broker)
        for hours_expected, (broker, allowed, *_) in zip(expected, brokers, strict=True)
    ]
    most, worst = min(missing, key=lambda pair: (-pair[0], pair[1]), default=(hours, ""))
    return WindowCoverage(
        sum(expected),
        sum(number for number, _ in missing),
        sum(expected) - sum(seen for _, _, seen, _ in brokers),
        worst,
        most,
    )


def refuse_without_allowed(seen: WindowCoverage, window: Window) -> None:
    """Raise ``InvalidRequest`` if no hour certainly has all allowed requests."""
    if seen.without_allowed == seen.hours:
        raise InvalidRequest(f"no allowed request is certain in {window}: {HOW_TO_LOG}")


def usage_in(tables: Tables, window: Window) -> DataFrame:
    """Rows of USAGE for exactly this window. Rows of partly covered days are computed from
    DECISIONS."""
    from pyspark.sql import functions as f

    first, last = window.whole_days
    day = f.col("day")
    whole = tables.read(USAGE).where((day >= f.lit(first)) & (day < f.lit(last)))
    if not window.cut_days:
        return whole
    from metalog_spark.coverage.coverage import usage

    time = f.unix_micros("time")
    partly = tables.read(DECISIONS).where(
        day.isin(window.cut_days) & (time >= f.lit(window.start_us)) & (time < f.lit(window.end_us))
    )
    return whole.unionByName(usage(partly))


def _date(day: int) -> date:
    return (_EPOCH + timedelta(days=day)).date()
