"""Posts alerts to an HTTP endpoint, on a thread of its own: each at least once.

The caller gives one batch of alerts at a time, so the alerts of one batch are all that waits here;
the table of alerts keeps the rest. An alert is tried until the endpoint takes it, with longer
waits in between, unless the endpoint refuses that very alert. A message names the endpoint's host
alone, since its path and the headers may hold a token. This module must not know Spark, nor what
an alert says.
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
"""The key of an alert by which a receiver finds that it has it already."""
_STEP_S: Final = 10.0
"""How long to connect, or to wait for the next bytes, may take at most."""
_WHOLE_S: Final = 30.0
"""How long one attempt may take."""
_LAST_S: Final = 1.0
"""How long the end waits for an attempt that is under way."""
_FIRST_WAIT_S: Final = 1.0
_LONGEST_WAIT_S: Final = 60.0
_REFUSED: Final = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
"""What an endpoint answers that will never take this alert."""
_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\t]*)")


class WebhookEndpoint(NamedTuple):
    """Where alerts go; ``headers`` are sent with each."""

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
        if self.is_tls:
            context = ssl.create_default_context()
            return HTTPSConnection(self.host, self.port, timeout=_STEP_S, context=context)
        return HTTPConnection(self.host, self.port, timeout=_STEP_S)


class Counts(NamedTuple):
    """Alerts that were taken and refused, and attempts that failed."""

    delivered: int = 0
    refused: int = 0
    failed: int = 0


def endpoint(url: str, headers: str = "") -> WebhookEndpoint:
    """Of a URL, and of lines ``NAME: VALUE``; ``InvalidRequest``, which repeats neither."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or " " in url:
        raise InvalidRequest("--webhook: write it as https://HOST[:PORT]/PATH")
    if "@" in parts.netloc:
        raise InvalidRequest(
            "--webhook: there is a password in the URL, which others on this machine can see;"
            " put a line Authorization: … into the file of --webhook-headers"
        )
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return WebhookEndpoint(parts.scheme == "https", host, port, target, _headers(headers))


def _headers(text: str) -> Mapping[str, str]:
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        match = _HEADER.fullmatch(line.strip())
        if match is None:
            raise InvalidRequest(f"--webhook-headers, line {number}: write it as NAME: VALUE")
        found[match[1]] = match[2]
    return found


class Webhook:
    """Posts what ``send`` gives it; ``delivered`` is the last batch of which nothing is left to
    post, ``trouble`` why nothing goes out now, if so."""

    def __init__(self, endpoint: WebhookEndpoint, delivered: int) -> None:
        self._endpoint = endpoint
        self._batch = self.delivered = delivered
        self._left: list[Mapping[str, Any]] = []
        self._changed = Condition()
        self._closing = Event()
        self.trouble: str | None = None
        self.counts = Counts()
        self._thread = Thread(target=self._run, name="metalog-webhook", daemon=True)
        self._thread.start()

    @property
    def pending(self) -> int:
        """How many alerts of the batch are left to post."""
        return len(self._left)

    def send(self, batch: int, alerts: Sequence[Mapping[str, Any]]) -> None:
        """The alerts of a batch, once those of the one before are posted."""
        with self._changed:
            if self._left:
                raise ValueError("the batch before is not posted yet")
            self._batch, self._left = batch, [*alerts]
            if not self._left:
                self.delivered = batch
            self._changed.notify_all()

    def settle(self, patience_s: float) -> bool:
        """Waits until all is posted, or nothing goes out, or for so long; whether all is."""
        with self._changed:
            self._changed.wait_for(
                lambda: not self._left or self.trouble is not None, timeout=patience_s
            )
            return not self._left

    def close(self) -> None:
        """Ends the thread; what is left to post is for the next process."""
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
                self.delivered = self._batch
            self._changed.notify_all()

    def _failed(self, why: str) -> None:
        with self._changed:
            self.counts = self.counts._replace(failed=self.counts.failed + 1)
            self.trouble = f"webhook {self._endpoint}: {why}"
            self._changed.notify_all()

    def _post(self, alert: Mapping[str, Any]) -> str | None:
        """Why the endpoint has not taken it; None where it has, or never will."""
        connection = self._endpoint.connection()
        too_long = Timer(_WHOLE_S, _break_off, [connection])
        too_long.daemon = True
        too_long.start()
        try:
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
        return self._taken(status)

    def _taken(self, status: int) -> str | None:
        if 200 <= status < 300:
            self.counts = self.counts._replace(delivered=self.counts.delivered + 1)
            return None
        if status in _REFUSED:
            self.counts = self.counts._replace(refused=self.counts.refused + 1)
            return None
        return f"it answered {status}"


def _break_off(connection: HTTPConnection) -> None:
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(SHUT_RDWR)
