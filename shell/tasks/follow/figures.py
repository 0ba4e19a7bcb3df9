"""Metrics and a probe of ``metalog pipeline follow``, over HTTP.

This module must not know what is followed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidRequest
from metalog.hosts.host_port import Address, parse_addresses

if TYPE_CHECKING:
    from metalog_spark.follow.figures import FollowState
    from metalog_spark.follow.webhook import Webhook
    from metalog_spark.store.table_store import Tables

_OPTION: Final = "--metrics"
_SCHEME: Final = "http://"


def metrics_address(text: str | None) -> Address | None:
    if text is None:
        return None
    if not text.startswith(_SCHEME):
        raise InvalidRequest(f"{_OPTION} {text}: write it as http://HOST:PORT")
    try:
        [address] = parse_addresses(text.removeprefix(_SCHEME).rstrip("/"))
    except ValueError:
        raise InvalidRequest(f"{_OPTION} {text}: give one address") from None
    return address


class NewestFigures:
    """The newest figures, for the thread of the HTTP listener."""

    def __init__(self, tables: Tables, webhook: Webhook | None) -> None:
        self._webhook = webhook
        self._timestamp: str | None = None
        self._checked_s: float | None = None
        self.show(tables)

    def show(self, tables: Tables) -> None:
        from metalog_spark.follow.batch import progress_of

        self._progress = progress_of(tables)

    def note_check(self, timestamp: str) -> None:
        """A new ``timestamp`` means that Spark checked for new input just now."""
        if timestamp != self._timestamp:
            self._timestamp, self._checked_s = timestamp, time.time()

    def state(self) -> FollowState:
        from metalog_spark.follow.figures import FollowState

        if self._webhook is None:
            return FollowState(self._progress, self._checked_s)
        webhook = self._webhook
        return FollowState(self._progress, self._checked_s, webhook.counts, webhook.pending)


@contextmanager
def served(
    address: Address | None, tables: Tables, webhook: Webhook | None
) -> Iterator[NewestFigures]:
    """A ``with`` block during which ``address``, if any, serves the figures."""
    newest = NewestFigures(tables, webhook)
    if address is None:
        yield newest
        return
    from metalog_node.ops.http_endpoint import HttpEndpoint, Page, text_page
    from metalog_spark.follow.figures import CONTENT_TYPE, Figures

    figures = Figures(newest.state)
    pages = {
        "/metrics": lambda: Page(figures.text(), content_type=CONTENT_TYPE),
        "/healthz": lambda: text_page(True, "following"),
    }
    listener = HttpEndpoint(pages, named=_OPTION)
    try:
        asyncio.run(listener.open(address))
        yield newest
    finally:
        asyncio.run(listener.close())
