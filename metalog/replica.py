"""One log and its replay, on a thread of their own.

The replica reads its log to the end, then polls it for more, and feeds the loader, which
feeds the publishers. A fault does not end it: the last good image stays in force, and
the log is read again from there after a while, longer each time up to ``MAX_BACKOFF_S``.

Only the replica's thread touches loader and publishers; any thread may read the
replica's attributes. This module must not know what kind of log it has.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event, Thread
from types import TracebackType
from typing import Final, Self

from metalog.errors import MetalogError
from metalog.image.metadata import MetadataImage
from metalog.loader import Loader, PublisherFault, Skipped, State, feed
from metalog.ports import LiveLog, Log, Publisher

_log = logging.getLogger(__name__)

POLL_S: Final = 0.5
"""How long one poll waits, and so how long ``close`` may take."""
MIN_BACKOFF_S: Final = 0.1
MAX_BACKOFF_S: Final = 10.0


class Replica:
    """``with Replica(log, publishers=[…]):`` follows ``log`` until the block ends.

    A log that is no ``LiveLog`` is read once.
    """

    def __init__(
        self,
        log: Log,
        publishers: Iterable[Publisher] = (),
        *,
        tolerant: bool = False,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = log
        self._loader = Loader(publishers, tolerant=tolerant)
        self._monotonic_s = monotonic_s
        self._is_closing = Event()
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        if self._thread is not None:
            raise RuntimeError("a replica is started only once")
        self._thread = Thread(target=self._run, name="metalog-replica", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop following and wait for the thread; may be called again."""
        self._is_closing.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def image(self) -> MetadataImage:
        """The newest image that was published; the empty one before the first."""
        return self._loader.image

    @property
    def state(self) -> State:
        return self._loader.state

    @property
    def publisher_faults(self) -> Sequence[PublisherFault]:
        return self._loader.publisher_faults

    @property
    def skipped(self) -> Mapping[str, Skipped]:
        return self._loader.skipped

    def _run(self) -> None:
        backoff = MIN_BACKOFF_S
        failing_since: float | None = None
        while not self._is_closing.is_set():
            before = self._loader.position
            try:
                self._follow()
                return
            except (MetalogError, OSError) as fault:
                self._loader.note_fault(fault)
                _log.warning("replay stopped, and begins again soon: %s", fault)
            except Exception as fault:
                self._loader.note_fault(fault)
                _log.exception("replay stopped by a fault of its own, and begins again soon")
            if failing_since is None or self._loader.position > before:
                failing_since, backoff = self._monotonic_s(), MIN_BACKOFF_S
            self._loader.note_staleness(round((self._monotonic_s() - failing_since) * 1000))
            self._is_closing.wait(backoff)
            backoff = min(backoff * 2, MAX_BACKOFF_S)

    def _follow(self) -> None:
        """Read the log to its end, then follow it; returns when closed or at the end of a
        log that is not live."""
        log = self._source
        for event in log.read(self._loader.position):
            feed(self._loader, log, (event,))
            if self._is_closing.is_set():
                return
        if isinstance(log, LiveLog):
            while not self._is_closing.is_set():
                feed(self._loader, log, log.poll(POLL_S))
