"""Words for the log's end, and for the configuration in a window.

This module must not know where its words are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from authorizer.kafka_version import KafkaVersion
from metalog.text.plurals import counted
from metalog_spark.report.text.words import day, moment

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog_spark.findings.windows.window import Window
    from metalog_spark.history.configuration import ConfigPeriod
    from metalog_spark.report.rows import Row


def log_end(history: Sequence[Row], window: Window) -> str:
    """For example ``the log's end (20 December 2025, after this window)``."""
    ends = [row["to_time"] for row in history]
    if not ends or None in ends:
        return "the log's end"
    end = max(ends)
    beside = "" if end < window.end_us else ", after this window"
    if end < window.start_us:
        beside = ", before this window"
    return f"the log's end ({day(end)}{beside})"


def configuration_text(periods: Sequence[ConfigPeriod], window: Window) -> str:
    """The configuration in the window, its changes, and today's configuration if it differs."""
    inside = list(_distinct(_touched(periods, window)))
    parts = [_rules(inside[0].config)]
    parts += [f"from {_at(period)} on: {_rules(period.config)}" for period in inside[1:]]
    today = list(_distinct(periods))[-1]
    if today.config != inside[-1].config:
        parts.append(f"from {_at(today)} on, after this window: {_rules(today.config)}")
    return "; ".join(parts)


def _touched(periods: Sequence[ConfigPeriod], window: Window) -> Iterator[ConfigPeriod]:
    for period, after in zip(periods, [*periods[1:], None], strict=True):
        begun = period.from_us is None or period.from_us < window.end_us
        ended = after is not None and (after.from_us or 0) <= window.start_us
        if begun and not ended:
            yield period


def _distinct(periods: Iterator[ConfigPeriod] | Sequence[ConfigPeriod]) -> Iterator[ConfigPeriod]:
    listed = list(periods)
    yield from listed[:1]
    yield from (period for before, period in pairwise(listed) if period.config != before.config)


def _rules(config: AuthorizerConfig) -> str:
    rule = "open by default" if config.allow_everyone else "closed by default"
    version = "" if config.kafka is KafkaVersion.V4_3 else f", as Kafka {config.kafka.value}"
    return f"{counted(len(config.super_users), 'super user')}, {rule}{version}"


def _at(period: ConfigPeriod) -> str:
    if period.from_us is None:
        return "the beginning"
    return f"{day(period.from_us)} {moment(period.from_us):%H:%M}"
