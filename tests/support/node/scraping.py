"""Reads a node's metrics and probes over HTTP, as Prometheus and Kubernetes do.

This module must not know what they should say.
"""

from __future__ import annotations

from collections.abc import Mapping
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
