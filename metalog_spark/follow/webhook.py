"""Posts alerts to an HTTP endpoint, on a separate thread, each alert at least once.

An alert is repeated, with growing pauses, until the endpoint accepts it or refuses it for good.
Messages do not show the URL's path or the headers, because a token can be in them. This module must
not know Spark, nor what an alert says.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR
from threading import Condition, Event, Thread, Timer
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from metalog.errors import InvalidRequest

ID: Final = "id"
"""The key by which a receiver recognizes a repeated alert."""
_STEP_S: Final = 10.0
"""The timeout in seconds to connect, and to wait for the next bytes."""
_WHOLE_S: Final = 30.0
"""A connected attempt is broken off after this many seconds."""
_LAST_S: Final = 1.0
"""``close`` waits at most this many seconds for an attempt in progress."""
_FIRST_WAIT_S: Final = 1.0
_LONGEST_WAIT_S: Final = 60.0
_REFUSED: Final = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}
)
"""Statuses with which an endpoint refuses an alert for good."""
_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\t]*)")


class WebhookEndpoint(NamedTuple):
    """The endpoint's address; ``headers`` are sent with each alert."""

    is_tls: bool
    host: str
    port: int | None
    target: str
    headers: Mapping[str, str]

    def __str__(self) -> str:
        scheme = "https" if self.is_tls else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}" + ("" if self.port is None else f":{self.port}")

    def __repr__(self) -> str:
        return f"WebhookEndpoint({self})"

    def connection(self) -> HTTPConnection:
        # without a port, HTTPConnection takes the end of an IPv6 address for the port
        if self.is_tls:
            port = self.port or HTTPSConnection.default_port
            context = ssl.create_default_context()
            return HTTPSConnection(self.host, port, timeout=_STEP_S, context=context)
        port = self.port or HTTPConnection.default_port
        return HTTPConnection(self.host, port, timeout=_STEP_S)


class Counts(NamedTuple):
    """The numbers of accepted and refused alerts, and of failed attempts."""

    delivered: int = 0
    refused: int = 0
    failed: int = 0


def endpoint(url: str, headers: str = "") -> WebhookEndpoint:
    """The endpoint of a URL and of header lines ``NAME: VALUE``.

    Raises:
        InvalidRequest: the URL or a line is malformed, or the URL has a user or a password. The
            message does not repeat the URL or the line.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host.encode("idna")  # as a connection does
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    is_printable = all("!" <= each <= "~" for each in url)
    if parts.scheme not in ("http", "https") or not host or port == 0 or not is_printable:
        raise InvalidRequest("--webhook: write it as https://HOST[:PORT]/PATH")
    if "@" in parts.netloc:
        raise InvalidRequest(
            "--webhook: the URL has a user or a password, which other users of this machine can"
            " see; put a line Authorization: … into the file of --webhook-headers"
        )
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return WebhookEndpoint(parts.scheme == "https", host, port, target, _headers(headers))


def _headers(text: str) -> Mapping[str, str]:
    headers = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        match = _HEADER.fullmatch(line.strip())
        if match is None:
            raise InvalidRequest(f"--webhook-headers, line {number}: write it as NAME: VALUE")
        headers[match[1]] = match[2]
    return headers


class Webhook:
    """Posts one batch of alerts at a time.

    ``delivered_batch`` is the last completely posted batch. ``trouble`` says why the last attempt
    failed, or is None. ``refusal`` is the endpoint's latest refusal for good.
    """

    def __init__(self, endpoint: WebhookEndpoint, delivered_batch: int) -> None:
        self._endpoint = endpoint
        self._batch = self.delivered_batch = delivered_batch
        self._left: list[Mapping[str, Any]] = []
        self._changed = Condition()
        self._closing = Event()
        self.trouble: str | None = None
        self.refusal: str | None = None
        self.counts = Counts()
        self._thread = Thread(target=self._run, name="metalog-webhook", daemon=True)
        self._thread.start()

    @property
    def pending(self) -> int:
        """The number of alerts that are not posted yet."""
        return len(self._left)

    def send(self, batch: int, alerts: Sequence[Mapping[str, Any]]) -> None:
        """Post a batch's alerts. The previous batch must be posted completely."""
        with self._changed:
            if self._left:
                raise ValueError("the previous batch is not posted yet")
            self._batch, self._left = batch, [*alerts]
            if not self._left:
                self.delivered_batch = batch
            self._changed.notify_all()

    def settle(self, patience_s: float) -> bool:
        """Wait until all alerts are posted, the last attempt failed, or ``patience_s`` is over.
        Returns whether all alerts are posted."""
        with self._changed:
            self._changed.wait_for(
                lambda: not self._left or self.trouble is not None, timeout=patience_s
            )
            return not self._left

    def close(self) -> None:
        """End the thread; the next run posts the remaining alerts."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join(_LAST_S)

    def _run(self) -> None:
        wait_s = _FIRST_WAIT_S
        while (alert := self._next()) is not None:
            why = self._post(alert)
            if why is None:
                wait_s = _FIRST_WAIT_S
                self._done()
                continue
            self._failed(why)
            self._closing.wait(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _next(self) -> Mapping[str, Any] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._left or self._closing.is_set())
            return None if self._closing.is_set() else self._left[0]

    def _done(self) -> None:
        with self._changed:
            del self._left[0]
            self.trouble = None
            if not self._left:
                self.delivered_batch = self._batch
            self._changed.notify_all()

    def _failed(self, why: str) -> None:
        with self._changed:
            self.counts = self.counts._replace(failed=self.counts.failed + 1)
            self.trouble = self._text(why)
            self._changed.notify_all()

    def _post(self, alert: Mapping[str, Any]) -> str | None:
        """Why the alert must be posted again; None if it was accepted, or refused for good."""
        connection = self._endpoint.connection()
        too_long = Timer(_WHOLE_S, _break_off, [connection])
        too_long.daemon = True
        try:
            connection.connect()
            too_long.start()
            body = json.dumps(alert, ensure_ascii=False).encode()
            headers = {"Content-Type": "application/json", "Idempotency-Key": alert[ID]}
            connection.request(
                "POST", self._endpoint.target, body, {**headers, **self._endpoint.headers}
            )
            status = connection.getresponse().status
        except (OSError, HTTPException) as error:
            return getattr(error, "strerror", None) or type(error).__name__
        finally:
            too_long.cancel()
            connection.close()
        return self._why_again(status)

    def _why_again(self, status: int) -> str | None:
        if 200 <= status < 300:
            self.counts = self.counts._replace(delivered=self.counts.delivered + 1)
            return None
        why = f"it answered {status}"
        if status in _REFUSED:
            self.refusal = self._text(why)
            self.counts = self.counts._replace(refused=self.counts.refused + 1)
            return None
        return why

    def _text(self, why: str) -> str:
        return f"webhook {self._endpoint}: {why}"


def _break_off(connection: HTTPConnection) -> None:
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(SHUT_RDWR)
