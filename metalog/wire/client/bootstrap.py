"""Connects to the first of several peers that accepts a connection, with one timeout for all.

The peers are tried in order. The next attempt begins when an attempt fails, or after 0.25 seconds
(as in RFC 8305), so a silent peer leaves time for the other peers. This module must not know what
the connection is for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from metalog.hosts.host_port import Address
from metalog.wire.client.connection import BareConnection, Connection, Unreachable
from metalog.wire.client.security import ClientSettings
from metalog.wire.frames import Malformed
from metalog.wire.versions import NoCommonVersion

_ATTEMPT_DELAY_S: Final = 0.25
_REPORT_S: Final = 0.1
"""An attempt ends this many seconds before the timeout, so that its error is reported."""
_TRY_NEXT_PEER: Final = (Unreachable, Malformed, NoCommonVersion)
"""Any other error, such as a refused login, would come from every peer."""


def first_connection(
    addresses: Sequence[Address],
    settings: ClientSettings,
    *,
    check: Callable[[Connection], None] = lambda connection: None,
) -> Connection:
    """A connection to one of ``addresses``, within ``settings.opening_timeout_s``.

    ``check`` can raise ``NoCommonVersion`` to refuse a connection.

    Raises:
        Unreachable: no peer can be used. The message has the error of each peer.
        Malformed, NoCommonVersion: the only peer cannot be used.
        AuthenticationFailed: a peer refuses the login.
    """

    def checked(address: Address, until: float) -> Connection:
        connection = Connection(address, settings, opening_deadline=until)
        try:
            check(connection)
        except Exception:
            connection.close()
            raise
        return connection

    return _Race(addresses, settings.opening_timeout_s, checked).winner()


def check_reachable(addresses: Sequence[Address], timeout_s: float) -> None:
    """Raise ``Unreachable`` if none of ``addresses`` accepts a connection within ``timeout_s``.

    Nothing is sent.
    """
    _Race(addresses, timeout_s, BareConnection).winner().close()


class _Closeable(Protocol):
    def close(self) -> None: ...


Opened = TypeVar("Opened", bound=_Closeable)


class _Attempt(NamedTuple, Generic[Opened]):
    address: Address
    connection: Opened | None
    error: Exception | None


class _Race(Generic[Opened]):
    def __init__(
        self,
        addresses: Sequence[Address],
        timeout_s: float,
        open_one: Callable[[Address, float], Opened],
    ) -> None:
        self._addresses = list(dict.fromkeys(addresses))
        self._deadline = time.monotonic() + timeout_s
        self._open_one = open_one
        self._attempts: SimpleQueue[_Attempt[Opened]] = SimpleQueue()
        self._lock = Lock()
        self._is_over = False

    def winner(self) -> Opened:
        try:
            return self._run()
        finally:
            self._end()

    def _run(self) -> Opened:
        waiting, running = self._addresses[::-1], set[Address]()
        errors: dict[Address, Exception] = {}
        while waiting or running:
            if waiting:
                address = waiting.pop()
                running.add(address)
                Thread(target=self._try, args=(address,), daemon=True).start()
            left = self._deadline - time.monotonic()
            if left <= 0:
                break
            try:
                attempt = self._attempts.get(
                    timeout=min(left, _ATTEMPT_DELAY_S) if waiting else left
                )
            except Empty:
                continue
            running.discard(attempt.address)
            if attempt.connection is not None:
                return attempt.connection
            if not isinstance(attempt.error, _TRY_NEXT_PEER):
                raise attempt.error or RuntimeError("an attempt without a result")
            errors[attempt.address] = attempt.error
        raise self._failure(errors)

    def _failure(self, errors: dict[Address, Exception]) -> Exception:
        for address in self._addresses:
            errors.setdefault(address, Unreachable(f"{address}: no answer in time"))
        if len(errors) == 1:
            return next(iter(errors.values()))
        by_text: dict[str, list[str]] = {}
        for address in self._addresses:
            text = str(errors[address]).removeprefix(f"{address}: ")
            by_text.setdefault(text, []).append(str(address))
        details = "; ".join(f"{', '.join(peers)}: {text}" for text, peers in by_text.items())
        return Unreachable(f"none of {len(errors)} addresses can be used: {details}")

    def _try(self, address: Address) -> None:
        try:
            connection = self._open_one(address, self._deadline - _REPORT_S)
        except Exception as error:
            self._attempts.put(_Attempt(address, None, error))
            return
        with self._lock:
            if not self._is_over:
                self._attempts.put(_Attempt(address, connection, None))
                return
        connection.close()

    def _end(self) -> None:
        """Close the connections that lost the race."""
        with self._lock:
            self._is_over = True
            while not self._attempts.empty():
                late = self._attempts.get_nowait().connection
                if late is not None:
                    late.close()
