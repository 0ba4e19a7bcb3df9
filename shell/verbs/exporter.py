"""``metalog exporter SOURCE``: metrics of any SOURCE, in Prometheus' text format.

The verb prints the metrics once, for the textfile collector of the node exporter, or serves them.
This module must not know what a check looks for, nor how a plan is made.
"""

from __future__ import annotations

import signal
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from metalog.errors import InvalidRequest, MetalogError
from metalog.hosts.host_port import socket_error_text
from metalog.text.os_errors import os_error_text
from shell.context import add_config, add_source, replayed_source
from shell.output.output import Output
from shell.repeated_options import verb_options
from shell.run_verb import verb_answer

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

USAGE: Final = "SOURCE [--wanted FILE…] [--audit FILE] [--listen HOST:PORT] [options]"
FORMATS: Final = ("text",)
PAGED: Final = False
EPILOG: Final = """\
metalog exporter @prod --wanted acls/ > /var/lib/node_exporter/metalog.prom
metalog exporter @prod --listen 127.0.0.1:9405

With --listen, each scrape computes the metrics again, so let Prometheus scrape every few minutes.
The verb needs pip install 'kraft-metalog[node]'."""

_MOST_PRINCIPALS: Final = 100
"""At most this many principals have their own series; all others share one series."""


def configure(parser: ArgumentParser) -> None:
    add_source(parser, has_at=False)
    group = parser.add_argument_group("metrics")
    group.add_argument(
        "--wanted",
        action="append",
        default=[],
        metavar="FILE",
        help="files of ACLs: count what apply --prune would change (may be repeated)",
    )
    group.add_argument(
        "--audit", metavar="FILE", help="audit lines of Kafka: count denials by principal"
    )
    group.add_argument(
        "--listen", metavar="HOST:PORT", help="serve /metrics at this address (default: print once)"
    )
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    try:
        from prometheus_client import CollectorRegistry, generate_latest, start_http_server
    except ModuleNotFoundError:
        raise InvalidRequest(
            "metalog exporter needs prometheus-client, which is not installed; "
            "pip install 'kraft-metalog[node]'"
        ) from None
    registry, collector = CollectorRegistry(), SourceCollector(arguments, output)
    registry.register(collector)
    if arguments.listen is None:
        output.line(generate_latest(registry).decode().rstrip())
        return 0 if collector.is_up else 2
    host, colon, port = arguments.listen.rpartition(":")
    if not colon or not port.isdigit():
        raise InvalidRequest(f"--listen {arguments.listen}: give HOST:PORT, such as 127.0.0.1:9405")
    stopping = Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stopping.set())
    try:
        server, _ = start_http_server(int(port), host.strip("[]"), registry)
    except (OSError, OverflowError) as error:
        why = socket_error_text(error) if isinstance(error, OSError) else "the port is too large"
        raise InvalidRequest(f"--listen {arguments.listen} cannot be opened: {why}") from None
    output.note(f"serving http://{host}:{server.server_port}/metrics; Ctrl-C or SIGTERM ends it")
    stopping.wait()
    server.shutdown()
    return 0


class SourceCollector:
    """Computes the metrics of SOURCE at each scrape."""

    def __init__(self, arguments: Namespace, output: Output) -> None:
        self._arguments = arguments
        self._output = output
        self._options = verb_options(arguments)
        self.is_up = False

    def describe(self) -> Sequence[Metric]:
        """Empty, because the metrics are known only at a scrape."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All metrics, or only ``metalog_source_up 0`` if SOURCE or a file cannot be read."""
        try:
            found = list(self._metrics())
            self.is_up = True
        except (MetalogError, OSError) as error:
            why = os_error_text(error) if isinstance(error, OSError) else str(error)
            self._output.error(why)
            found = []
            self.is_up = False
        yield _gauge("up", "1 if SOURCE gives answers", int(self.is_up))
        yield from found

    def _metrics(self) -> Iterator[Metric]:
        from shell.tasks.history import time_of

        replayed = replayed_source(self._arguments, self._output, warn=False)
        yield _gauge("acls", "ACLs in force", len(replayed.image.acls))
        if replayed.source.store is None:
            yield _gauge(
                "end_offset", "Offset after the last record that was read", replayed.offset
            )
            written = time_of(replayed, replayed.offset - 1) if replayed.offset else None
            if written is not None:
                text = "When the last record was written, in seconds since 1970"
                yield _gauge("last_record_timestamp_seconds", text, written / 1000)
        lint = Counter((each["check"], each["severity"].lower()) for each in self._answers("lint"))
        found = sorted(lint.items())
        yield _family("lint_findings", "Findings of metalog lint", ["check", "severity"], found)
        if self._arguments.wanted:
            yield self._drift()
        if self._arguments.audit is not None:
            yield self._denials(self._arguments.audit)

    def _drift(self) -> Metric:
        steps = Counter(
            each["change"] for each in self._answers("plan", *self._arguments.wanted, "--prune")
        )
        found = [((change,), steps[change]) for change in ("add", "remove")]
        return _family("drift_acls", "ACLs that apply --prune would change", ["change"], found)

    def _denials(self, audit: str) -> Metric:
        denials: Counter[str] = Counter()
        for each in self._answers("can", f"--audit={audit}"):
            if each.get("logged") == "DENIED":
                denials[each["principal"]] += each["count"]
        found = [
            ((principal,), count) for principal, count in denials.most_common(_MOST_PRINCIPALS)
        ]
        if others := denials.total() - sum(count for _, count in found):
            found.append((("",), others))
        return _family("audit_denials", "Denied requests in the audit file", ["principal"], found)

    def _answers(self, verb: str, *words: str) -> list[dict[str, Any]]:
        from shell.main import VERBS

        entry = VERBS[verb]
        words = (self._arguments.source, *words, *self._options)
        return verb_answer(verb, entry, entry.load_verb(), words).records


def _gauge(name: str, text: str, value: float) -> Metric:
    return _family(name, text, (), [((), value)])


def _family(
    name: str, text: str, labels: Sequence[str], found: Iterable[tuple[Sequence[str], float]]
) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"metalog_source_{name}", text, labels=labels)
    for values, value in found:
        family.add_metric(values, value)
    return family
