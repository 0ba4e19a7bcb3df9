"""A node's metrics for Prometheus: one registry for each node.

Events are counters; state is a gauge, read at scrape time. Kafka's metrics have the names that
Prometheus' JMX exporter usually gives them. This module must not know sockets, nor change what it
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from authorizer.answers import decision_of
from authorizer.api import Action, RequestContext
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.decide import ALLOWED, AuthorizationResult
from authorizer.interface import AuthorizationResults, Authorizer
from authorizer.standard import StandardAuthorizer
from metalog.acl import ANY_ACL, Acl, AclFilter, Operation, ResourceType
from metalog.errors import AuthorizerNotReady, InvalidRequest
from metalog.wire.schema import error_name
from metalog_node.handlers.request import EncodedResponse

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
ACL_COUNT: Final = "kafka_server_authorizer_aclcount"
NOT_READY: Final = "NotReady"
UNKNOWN: Final = "unknown"

NO_ERROR: Final = error_name(0)
_FORWARDED: Final = "FORWARDED"
_SYNC_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Condition(NamedTuple):
    """A node's state at one moment.

    - ``acl_count`` is None without an authorizer. ``lag`` is None if the log's end is not known.
    - ``listeners``: whether each listener is open, and its number of clients.
    - ``lost_lines``: the number of lost lines, by log (the node's or the audit log).
    - ``last_contact_s``: when the followed quorum or topic last answered, in seconds since 1970.
      None before the first answer, for a local log, and while this node leads the log.
    """

    is_ready: bool
    stale_s: float
    last_applied_offset: int
    lag: int | None
    acl_count: int | None
    listeners: Mapping[str, tuple[bool, int]]
    loop_late_s: float = 0.0
    lost_lines: Mapping[str, int] = {}
    last_contact_s: float | None = None


class Metrics:
    def __init__(self, condition: Callable[[], Condition]) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "metalog_requests",
            "Requests answered; outcome is the answer's first error, NONE, or FORWARDED",
            ("api", "outcome"),
            registry=self.registry,
        )
        self._denials = Counter(
            "metalog_denials",
            "Logged denials by rule; NotReady: calls refused before the log is loaded or after"
            " stale.deny.after.ms",
            ("rule",),
            registry=self.registry,
        )
        self._failed_logins = Counter(
            "metalog_authentication_failures",
            "Clients that failed to authenticate",
            ("listener",),
            registry=self.registry,
        )
        self._unfinished_logins = Counter(
            "metalog_authentication_unfinished",
            "Clients that left, or were too slow, before their login was complete",
            ("listener",),
            registry=self.registry,
        )
        self._syncs = Histogram(
            "metalog_log_sync_seconds",
            "How long a write to the log took to be durable (fsync)",
            buckets=_SYNC_BUCKETS,
            registry=self.registry,
        )
        self.registry.register(_Now(condition))
        ProcessCollector(registry=self.registry)

    def count_answer(self, api: str, answered: Any) -> None:
        self._requests.labels(api, outcome_of(answered)).inc()

    def count_denial(self, rule: str) -> None:
        self._denials.labels(rule).inc()

    def count_failed_login(self, listener: str) -> None:
        self._failed_logins.labels(listener).inc()

    def count_unfinished_login(self, listener: str) -> None:
        self._unfinished_logins.labels(listener).inc()

    def observe_sync(self, seconds: float) -> None:
        self._syncs.observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self.registry)


class _Now(Collector):
    def __init__(self, condition: Callable[[], Condition]) -> None:
        self._condition = condition

    def describe(self) -> list[Metric]:
        """Return no descriptions, so that registration reads no gauge."""
        return []

    def collect(self) -> Iterator[Metric]:
        now = self._condition()
        if now.acl_count is not None:
            yield GaugeMetricFamily(
                ACL_COUNT,
                "ACLs in force (kafka.server:type=Authorizer,name=AclCount)",
                value=now.acl_count,
            )
        yield GaugeMetricFamily(
            "metalog_ready", "1 while the node is ready, as /readyz says", now.is_ready
        )
        yield GaugeMetricFamily(
            "metalog_stale_seconds",
            "Seconds for which the image has possibly been out of date; 0 while all is well",
            now.stale_s,
        )
        if now.last_contact_s is not None:
            yield GaugeMetricFamily(
                "metalog_last_contact_timestamp_seconds",
                "When the followed quorum or topic last answered",
                value=now.last_contact_s,
            )
        yield GaugeMetricFamily(
            "metalog_event_loop_late_seconds",
            "How long the event loop has been blocked, so no client is served; 0 while all is well",
            now.loop_late_s,
        )
        yield GaugeMetricFamily(
            "metalog_last_applied_offset",
            "Offset of the last applied record; -1 before the first",
            now.last_applied_offset,
        )
        if now.lag is not None:
            yield GaugeMetricFamily(
                "metalog_lag_records", "Committed records that are not applied yet", now.lag
            )
        lost = CounterMetricFamily(
            "metalog_log_lines_lost",
            "Lines of the node's or the audit log that were lost because its queue was full",
            labels=["log"],
        )
        for name, count in now.lost_lines.items():
            lost.add_metric([name], count)
        yield lost
        opened = GaugeMetricFamily(
            "metalog_listener_open", "1 if the listener accepts clients", labels=["listener"]
        )
        connections = GaugeMetricFamily(
            "metalog_connections", "Connected clients", labels=["listener"]
        )
        for name, (is_open, clients) in now.listeners.items():
            opened.add_metric([name], is_open)
            connections.add_metric([name], clients)
        yield opened
        yield connections


def outcome_of(answered: Any) -> str:
    """Kafka's name of a response's error, or of the first error in its parts, such as partitions.

    NONE without an error; FORWARDED for another node's response.
    """
    if isinstance(answered, EncodedResponse):
        return answered.outcome
    if isinstance(answered, bytes):
        return _FORWARDED
    code = getattr(answered, "error_code", None) or _first_error(answered)
    return error_name(int(code)) if code else NO_ERROR


def _first_error(response: Any) -> int:
    for parts in _arrays(response):
        if _has_errors(parts):
            groups: Iterable[tuple[Any, ...]] = (parts,)
        elif any(map(_has_errors, _arrays(parts[0]))):
            groups = (each for part in parts for each in _arrays(part) if _has_errors(each))
        else:
            continue
        code = next((part.error_code for group in groups for part in group if part.error_code), 0)
        if code:
            return int(code)
    return 0


def _has_errors(array: tuple[Any, ...]) -> bool:
    return hasattr(array[0], "error_code")


def _arrays(part: Any) -> Iterator[tuple[Any, ...]]:
    for name in getattr(part, "__dataclass_fields__", ()):
        items = getattr(part, name)
        if isinstance(items, tuple) and items:
            yield items


class CountedAuthorizer(Authorizer):
    """Passes all calls to ``inner``, and counts the denials that the audit log has.

    A denial counts by its rule. The rule is UNKNOWN if ``inner`` is not a StandardAuthorizer, or if
    its ACLs or gate change during the call. A call of ``authorize`` that raises
    ``AuthorizerNotReady`` counts once, as NOT_READY.
    """

    def __init__(self, inner: Authorizer, metrics: Metrics) -> None:
        self._inner = inner
        self._metrics = metrics

    def configure(self, configs: Mapping[str, object]) -> None:
        self._inner.configure(configs)

    def start(self, server_info: Mapping[str, str]) -> dict[str, Future[None]]:
        return self._inner.start(server_info)

    def authorize(self, context: RequestContext, actions: Sequence[Action]) -> AuthorizationResults:
        decision_context = _decision_context_of(self._inner)
        try:
            results = self._inner.authorize(context, actions)
        except AuthorizerNotReady:
            self._metrics.count_denial(NOT_READY)
            raise
        if _decision_context_of(self._inner) is not decision_context:
            decision_context = None
        for action, result in zip(actions, results, strict=True):
            if result is not ALLOWED and action.log_if_denied:
                self._metrics.count_denial(_rule(decision_context, context, action))
        return results

    def authorize_by_resource_type(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType
    ) -> AuthorizationResult:
        return self._inner.authorize_by_resource_type(context, operation, resource_type)

    def acls(self, acl_filter: AclFilter = ANY_ACL) -> Sequence[Acl]:
        return self._inner.acls(acl_filter)

    def acl_count(self) -> int:
        return self._inner.acl_count()

    def is_super_user(self, principal: str) -> bool:
        return self._inner.is_super_user(principal)

    def close(self) -> None:
        self._inner.close()


def _decision_context_of(authorizer: Authorizer) -> DecisionContext | None:
    return authorizer.decision_context if isinstance(authorizer, StandardAuthorizer) else None


def _rule(decision_context: DecisionContext | None, context: RequestContext, action: Action) -> str:
    if decision_context is None:
        return UNKNOWN
    try:
        decision = decision_of(decision_context, context, action)
    except InvalidRequest:
        return UNKNOWN
    return UNKNOWN if decision.result is ALLOWED else decision.rule
