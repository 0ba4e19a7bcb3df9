"""Gives a client of confluent-kafka a logger, and writes the client's errors as text.

Without a logger, librdkafka writes its log to stderr. librdkafka reports the cause of a lost
connection only in a callback, not in the error of the failed request. This module must not know
which requests are sent, and does not import confluent-kafka.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

_SILENT_S: Final = 30.0


class LogThrottle(logging.Filter):
    """Passes at most one log line with the same first word in 30 seconds.

    librdkafka logs every attempt to connect, many times a second.
    """

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic_s = monotonic_s
        self._passed_s: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.getMessage().partition(" ")[0]
        now_s = self._monotonic_s()
        if now_s - self._passed_s.get(kind, -_SILENT_S) < _SILENT_S:
            return False
        self._passed_s[kind] = now_s
        return True


_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())
_log.addFilter(LogThrottle())

_ALL_DOWN: Final = "_ALL_BROKERS_DOWN"
_REFUSED: Final = "_AUTHENTICATION"
_TRANSIENT: Final = frozenset(
    {
        _ALL_DOWN, "_TRANSPORT", "_RESOLVE", "_TIMED_OUT", "_TIMED_OUT_QUEUE", "_WAIT_COORD",
        "_UNKNOWN_PARTITION", "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION",
        "REQUEST_TIMED_OUT", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR", "CONCURRENT_TRANSACTIONS", "OFFSET_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "KAFKA_STORAGE_ERROR", "NOT_CONTROLLER",
    }
)  # fmt: skip
"""Errors that end by themselves, for example while a broker starts or a leader is elected."""


class Troubles:
    """Remembers what ``client`` reports to ``error_cb``.

    Create the client with ``settings``, and then set ``client``.
    """

    def __init__(self) -> None:
        self.client: Any = None
        self.last = ""
        self.is_down = False
        """Whether the last report is that no broker can be reached."""
        self.is_refused = False
        self.settings: dict[str, Any] = {"logger": _log, "error_cb": self._note}

    def why(self, error: BaseException) -> str:
        """The last report to ``error_cb`` for a local error; otherwise ``error_text``."""
        if is_local(error) and self.client is not None:
            with suppress(Exception):
                self.client.poll(0)
        return (self.last if is_local(error) else "") or error_text(error)

    def _note(self, error: Any) -> None:
        self.is_down = error.name() == _ALL_DOWN
        self.is_refused = self.is_refused or error.name() == _REFUSED
        if not self.is_down or not self.last:
            self.last = one_line(error.str() or error.name())


def is_local(error: BaseException) -> bool:
    """Whether confluent-kafka itself raised the error, without an answer from the cluster."""
    cause = _cause(error)
    return cause is None or cause.code() < 0


def is_transient(error: BaseException) -> bool:
    """Whether the same request can succeed later, for example because a node did not answer."""
    cause = _cause(error)
    return isinstance(error, TimeoutError) if cause is None else cause.name() in _TRANSIENT


def error_text(error: BaseException) -> str:
    """Kafka's name and message for an error, on one line."""
    cause = _cause(error)
    if cause is None:
        return one_line(str(error)) or type(error).__name__
    message = one_line(cause.str() or "")
    name: str = cause.name().lstrip("_")
    return f"{name}: {message}" if message and not message.startswith("Request ") else name


def one_line(text: str) -> str:
    return " ".join(text.split())


def _cause(error: BaseException) -> Any:
    cause = error.args[0] if error.args else None
    return cause if hasattr(cause, "code") and hasattr(cause, "name") else None
