"""The fetch purgatory: observers of this controller's log wait here for new records.

A waiting observer costs no thread and no buffer. Each publication of the replica wakes all waiting
observers. This module must not know requests.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, Thread
from typing import NamedTuple, TypeVar

from metalog.errors import NotController
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage
from metalog_node.publish.served_log import ServedLog

R = TypeVar("R")

_log = logging.getLogger(__name__)


class _DelayedFetch(NamedTuple):
    """``attempt(log, is_last)`` returns None if the log has no new records. The last attempt always
    returns an answer."""

    attempt: Callable[[ServedLog, bool], object | None]
    deadline_s: float
    answer: Future[object]


class FetchPurgatory:
    """A publisher. After ``close``, every waiting fetch fails with ``NotController``."""

    def __init__(self, log: ServedLog) -> None:
        self._log = log
        self._changed = Condition()
        self._has_news = False
        self._arrived: list[_DelayedFetch] = []
        self._is_closed = False
        self._thread: Thread | None = None

    def ask(self, attempt: Callable[[ServedLog, bool], R | None], wait_s: float) -> Future[R]:
        """A future of the first result of ``attempt`` that is not None. The purgatory calls
        ``attempt`` now, after each publication, and for the last time after ``wait_s`` seconds."""
        answer: Future[object] = Future()
        answer.set_running_or_notify_cancel()
        waiting = _DelayedFetch(attempt, time.monotonic() + wait_s, answer)
        with self._changed:
            if self._is_closed:
                answer.set_exception(NotController("the node is closing"))
                return answer  # type: ignore[return-value]
            self._arrived.append(waiting)
            self._changed.notify()
            if self._thread is None:
                self._thread = Thread(target=self._run, name="metalog-feed", daemon=True)
                self._thread.start()
        return answer  # type: ignore[return-value]

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        with self._changed:
            self._has_news = True
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        waiting: list[_DelayedFetch] = []
        while True:
            with self._changed:
                while not (self._arrived or self._is_closed or (self._has_news and waiting)):
                    left = min((fetch.deadline_s for fetch in waiting), default=None)
                    if left is not None and (left := left - time.monotonic()) <= 0:
                        break
                    self._changed.wait(left)
                arrived, self._arrived = self._arrived, []
                due = arrived if not self._has_news else [*waiting, *arrived]
                rest = waiting if not self._has_news else []
                self._has_news = False
                is_closed = self._is_closed
            if is_closed:
                _refuse([*waiting, *arrived])
                return
            now_s = time.monotonic()
            late = [fetch for fetch in rest if fetch.deadline_s <= now_s]
            waiting = [fetch for fetch in rest if fetch.deadline_s > now_s]
            waiting += [fetch for fetch in (*late, *due) if not self._try_to_answer(fetch, now_s)]

    def _try_to_answer(self, waiting: _DelayedFetch, now_s: float) -> bool:
        try:
            answer = waiting.attempt(self._log, waiting.deadline_s <= now_s)
        except Exception as error:
            waiting.answer.set_exception(error)
            return True
        if answer is None:
            return False
        waiting.answer.set_result(answer)
        return True


def _refuse(waiting: list[_DelayedFetch]) -> None:
    for fetch in waiting:
        fetch.answer.set_exception(NotController("the node is closing"))
