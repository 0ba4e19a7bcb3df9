"""Metrics of ``follow`` in Prometheus' format.

The folder stores all counters except those of the webhook, so a restart resets only the latter.
This module must not know HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from metalog_spark.follow.batch import Progress
from metalog_spark.follow.webhook import Counts

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST


class FollowState(NamedTuple):
    """``looked_s``: when Spark last looked for new input, in seconds since 1970. ``posted`` is None
    without a webhook. ``pending``: the number of alerts that are not posted yet."""

    progress: Progress = Progress()
    looked_s: float | None = None
    posted: Counts | None = None
    pending: int = 0


class Figures(Collector):
    """The metrics; ``state`` is called at each scrape."""

    def __init__(self, state: Callable[[], FollowState]) -> None:
        self._state = state
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        state = self._state()
        progress = state.progress
        yield _counter("requests_decided", "Requests that were decided", progress.decided)
        yield _counter(
            "lines_rejected",
            "Lines that could not be used (in the table named rejected)",
            progress.rejected,
        )
        yield _counter("alerts", "Alerts that were raised", progress.alerts)
        yield _gauge("requests_waiting", "Requests that wait for the log", progress.waiting)
        yield _gauge("batch", "The number of the last committed batch, from 0 on", progress.batch)
        if progress.waits_from_ms is not None:
            text = "The time of the first request that waits, in seconds since 1970"
            yield _gauge("waiting_since_timestamp_seconds", text, progress.waits_from_ms / 1000)
        if state.looked_s is not None:
            text = "When follow last looked for new input, in seconds since 1970"
            yield _gauge("last_look_timestamp_seconds", text, state.looked_s)
        if state.posted is not None:
            delivered, refused, failed = state.posted
            yield _counter("webhook_delivered", "Alerts that the webhook accepted", delivered)
            yield _counter("webhook_refused", "Alerts that the webhook refused for good", refused)
            yield _counter("webhook_failed_attempts", "Attempts to post that failed", failed)
            yield _gauge(
                "webhook_pending",
                "Alerts of the current batch that are not posted yet",
                state.pending,
            )


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(f"metalog_follow_{name}", text, value=value)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"metalog_follow_{name}", text, value=value)
