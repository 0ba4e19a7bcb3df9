"""The super users, ``allow.everyone.if.no.acl.found`` and the Kafka version over time.

``--config FILE`` is in force from the beginning, ``--config MOMENT=FILE`` from that moment, each
until the next configuration. This module must not know how requests are decided.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.config import (
    ALLOW_EVERYONE,
    SUPER_USERS,
    AuthorizerConfig,
    from_located,
    read_kafka_version,
)
from authorizer.kafka_version import KafkaVersion
from authorizer.loading import CLASS_NAME, has_no_authorizer, why_decisions_differ
from metalog.errors import InvalidMoment, InvalidRequest
from metalog.log.properties_file import located_properties
from metalog_sources.moment import AtTime, parse_moment, time_text
from metalog_spark.store.arrow import in_spark, table_of
from metalog_spark.store.tables import CONFIGURATION

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession

ASSUMED: Final = "assumed"
"""The ``source`` of a period without a file."""


class ConfigPeriod(NamedTuple):
    """``config`` is in force from ``from_us`` (microseconds since 1970; None is the beginning)
    until the next period. ``source`` is its file, or ``ASSUMED``.

    ``config`` has only the keys that decide requests; all other keys have their defaults.
    """

    from_us: int | None
    config: AuthorizerConfig
    source: str


DEFAULT_PERIOD: Final = ConfigPeriod(None, AuthorizerConfig(), ASSUMED)


class Configuration:
    """The configuration periods in order; the first has no beginning."""

    def __init__(self, periods: Iterable[ConfigPeriod] = (DEFAULT_PERIOD,)) -> None:
        self.periods = tuple(periods)
        self.starts = tuple(
            period.from_us for period in self.periods[1:] if period.from_us is not None
        )

    def at(self, time_us: int) -> AuthorizerConfig:
        return self.periods[bisect_right(self.starts, time_us)].config

    def rows(self, session: SparkSession) -> DataFrame:
        return in_spark(session, self.table(), CONFIGURATION.schema)

    def table(self) -> pa.Table:
        edges = [None, *self.starts, None]
        rows = [
            (
                begin,
                end,
                sorted(period.config.super_users),
                period.config.allow_everyone,
                period.config.kafka_version and period.config.kafka_version.value,
                period.source,
            )
            for period, begin, end in zip(self.periods, edges, edges[1:], strict=False)
        ]
        return table_of(rows, CONFIGURATION.schema)

    def with_default(self, default: KafkaVersion) -> Configuration:
        """The same configuration, with the version ``default`` in periods without a version."""
        return Configuration(
            period._replace(
                config=period.config._replace(kafka_version=period.config.kafka_version or default)
            )
            for period in self.periods
        )

    @staticmethod
    def of(table: DataFrame) -> Configuration:
        """The configuration in the table CONFIGURATION; without rows, Kafka's defaults."""
        columns = ("super_users", "allow_everyone", "kafka_version", "source")
        rows = table.selectExpr("unix_micros(from_time) from_us", *columns).collect()
        periods = [
            ConfigPeriod(row["from_us"], deciding_config(row), row["source"]) for row in rows
        ]
        return Configuration(sorted(periods, key=_begin)) if periods else Configuration()


def read_configuration(texts: Sequence[str]) -> tuple[Configuration, list[str]]:
    """The configuration in the arguments ``texts`` of ``--config``, and warnings."""
    periods: dict[int | None, ConfigPeriod] = {}
    warnings: list[str] = []
    for text in texts:
        from_us, path = _parts(text)
        config, notes = _read(path)
        warnings += notes
        if from_us in periods:
            since = "the beginning" if from_us is None else time_text(from_us // 1000)
            raise InvalidRequest(
                f"--config {text}: {periods[from_us].source} is in force from {since} already;"
                " write MOMENT=FILE for a later file"
            )
        periods[from_us] = ConfigPeriod(from_us, config, str(path))
    if None not in periods:
        until = min((start for start in periods if start is not None), default=None)
        when = "" if until is None else f" before {time_text(until // 1000)}"
        warnings.append(
            "without --config server.properties,"
            f" assumed {SUPER_USERS}= and {ALLOW_EVERYONE}=false{when}"
        )
        periods[None] = DEFAULT_PERIOD
    return Configuration(sorted(periods.values(), key=_begin)), warnings


def _parts(text: str) -> tuple[int | None, Path]:
    """The start in microseconds since 1970, and the file, whose name can contain ``=``."""
    moment, equals, file = text.partition("=")
    if not equals or Path(text).exists():
        return None, Path(text)
    try:
        parsed = parse_moment(moment)
    except InvalidMoment:
        raise InvalidRequest(
            f"--config {text}: {moment!r} is not a time; give @MILLISECONDS or ISO 8601, or an"
            " existing FILE"
        ) from None
    if not isinstance(parsed, AtTime):
        raise InvalidRequest(
            f"--config {text}: {moment} is an offset or a relative time; write the time from which"
            " FILE is in force, as @MILLISECONDS or in ISO 8601"
        )
    return parsed.epoch_ms * 1000, Path(file)


def _read(path: Path) -> tuple[AuthorizerConfig, list[str]]:
    located = located_properties(path)
    properties = located.properties
    config, notes = from_located(located)
    deciding = AuthorizerConfig(
        config.super_users, config.allow_everyone, kafka_version=config.kafka_version
    )
    why = why_decisions_differ(properties)
    if has_no_authorizer(properties):
        notes.append(f"{path}: {why}; metalog still decides by the ACLs")
    elif why is not None and CLASS_NAME in properties:
        notes.append(f"{path}: {why}")
    elif not properties.keys() & {SUPER_USERS, ALLOW_EVERYONE}:
        notes.append(
            f"{path} sets neither {SUPER_USERS} nor {ALLOW_EVERYONE}: is it a server.properties?"
        )
    return deciding, notes


def deciding_config(row: Mapping[str, Any] | Row) -> AuthorizerConfig:
    return AuthorizerConfig(
        frozenset(row["super_users"] or ()),
        bool(row["allow_everyone"]),
        kafka_version=read_kafka_version(row["kafka_version"] or ""),
    )


def _begin(period: ConfigPeriod) -> Any:
    return period.from_us is not None, period.from_us
