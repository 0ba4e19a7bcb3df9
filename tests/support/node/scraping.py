"""Reads a node's metrics and probes over HTTP, as Prometheus and Kubernetes do.

This module must not know what they should say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from urllib.error import HTTPError
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families


def scraped(address: object) -> Mapping[tuple[str, str], float]:
    """The metrics: ``(name, label values)`` to value."""
    with urlopen(f"http://{address}/metrics", timeout=60) as response:
        assert response.headers["Content-Type"].startswith("text/plain; version=")
        text = response.read().decode()
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def got(address: object, path: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://{address}{path}", timeout=60) as response:
            return response.status, response.read().decode()
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


@contextmanager
def probing(address: object, every_s: float = 0.05) -> Iterator[None]:
    """Asks both probes again and again; at the end, each answer must have been that the node is
    alive and ready."""
    done = Event()

    def probe() -> list[tuple[int, str]]:
        answers = []
        while not done.wait(every_s) or not answers:
            answers += [got(address, "/healthz"), got(address, "/readyz")]
        return answers

    with ThreadPoolExecutor(1) as threads:
        probes = threads.submit(probe)
        try:
            yield
        finally:
            done.set()
        assert {status for status, _ in probes.result()} == {200}, probes.result()[-2:]
