"""Group commit: the only writer of a log carries out queued changes in groups.

Each change is decided on an image with the previous changes of its group. Then all records are
appended as one batch, synced once and replayed. Then the futures complete, so an answered change is
durable and in force. If the batch is too large, each change gets a separate batch. If the write
fails, the whole group fails, and the queue accepts no further change.

A change with a transaction's name is not grouped. If a later batch of the transaction fails, the
next leader aborts the transaction. Any thread may call ``submit`` and ``stop``. This module must
not know what a change does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import chain, groupby
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, Final, NamedTuple, TypeVar

from metalog.controller.activation import activation_batches
from metalog.controller.result import ControllerResult
from metalog.controller.transaction import transaction_batches
from metalog.errors import CorruptLog, InvalidRequest, LogFenced, MetalogError
from metalog.image.delta import MetadataDelta
from metalog.image.metadata import MetadataImage
from metalog.image.policy import doubt_about
from metalog.loader import Loader, feed
from metalog.ports import WritableLog
from metalog.records.frame import encode_value
from metalog.records.message import Message
from metalog.records.messages import NoOpRecord

_log = logging.getLogger(__name__)

R = TypeVar("R")
Change = Callable[[MetadataImage], ControllerResult[R]]
"""A pure function from an image to records and a response."""

NO_OP_SINCE: Final = 5
"""metadata.version 3.3-IV1, the first with NoOp records (KIP-835)."""
MAX_GROUP: Final = 1024
"""The most changes in a group."""


class _Request(NamedTuple):
    """``transaction`` is a name, or None for a change that must fit one batch."""

    change: Change[Any]
    future: Future[Any]
    transaction: str | None = None


class _Decided(NamedTuple):
    request: _Request
    result: ControllerResult[Any]


class WriteQueue:
    """The queue of changes to ``log``; ``loader`` makes the log's images."""

    def __init__(self, log: WritableLog, loader: Loader) -> None:
        self._log = log
        self._loader = loader
        self._epoch = -1
        self._waiting: SimpleQueue[_Request | None] = SimpleQueue()
        self._refusal_lock = Lock()
        self._refusal: Exception | None = None

    def submit(self, change: Change[R], transaction: str | None = None) -> Future[R]:
        future: Future[R] = Future()
        with self._refusal_lock:
            if self._refusal is None:
                self._waiting.put(_Request(change, future, transaction))
                return future
        future.set_exception(self._refusal)
        return future

    def claim(self) -> None:
        self._epoch = self._log.claim()

    @property
    def is_claimed(self) -> bool:
        """Whether ``claim`` has succeeded."""
        return self._epoch >= 0

    @property
    def refusal(self) -> Exception | None:
        """Why no further change is accepted; None if changes are accepted."""
        return self._refusal

    def activate(self, first_records: Sequence[tuple[Message, int]] = ()) -> None:
        """Write the activation batches, then ``first_records``. The log must be replayed before."""
        if self._refusal is not None:
            return
        opened = self._loader.open_transaction
        open_since = None if opened is None else opened.offset
        try:
            for records in chain(
                activation_batches(self._loader.image, open_since, self._log.bootstrap_records),
                filter(None, [first_records]),
            ):
                self._log.append(self._epoch, records)
                feed(self._loader, self._log, self._log.poll(0))
        except BaseException as error:
            self.stop(error if isinstance(error, MetalogError) else _broken(error))
            raise

    def carry_out_next(self, idle_s: float | None = None) -> None:
        """Wait for a group and carry out its changes; also returns after ``stop``.

        After ``idle_s`` seconds without a change, write a NoOp record if the metadata.version has
        NoOp records. Raises the errors of the write, except ``InvalidRequest``, and of the replay.
        """
        group = []
        try:
            request = self._waiting.get(timeout=idle_s)
        except Empty:
            request = _Request(_no_op, Future())
        with suppress(Empty):
            while request is not None:
                if request.future.set_running_or_notify_cancel():
                    group.append(request)
                if len(group) == MAX_GROUP:
                    break
                request = self._waiting.get_nowait()
        try:
            for part in _parts(group):
                self._carry_out(part)
        except BaseException as error:
            left = [each for each in group if not each.future.done()]
            _fail(left, self._refusal or _broken(error))
            raise

    def stop(self, refusal: Exception) -> None:
        """Accept no more changes; queued and new changes fail with the first ``refusal``."""
        with self._refusal_lock:
            self._refusal = self._refusal or refusal
        self._waiting.put(None)

    def fail_waiting(self, fault: Exception | None) -> None:
        """Fail the queued changes with ``fault``, or with ``LogFenced`` if ``fault`` is None."""
        with suppress(Empty):
            while True:
                request = self._waiting.get_nowait()
                if request is not None and request.future.set_running_or_notify_cancel():
                    request.future.set_exception(fault or LogFenced("the log cannot be replayed"))

    def close(self) -> None:
        """Fail the queued changes and close the log. No change may be in progress."""
        self.fail_waiting(self._refusal)
        self._log.close()

    def _carry_out(self, group: Sequence[_Request]) -> None:
        if self._refusal is not None:
            _fail(group, self._refusal)
            return
        decided = self._decided(group)
        try:
            has_written = self._append(decided)
        except InvalidRequest as error:
            if isinstance(error, LogFenced):
                self._give_up(decided, error)
            elif len(decided) == 1:
                decided[0].request.future.set_exception(error)
            else:
                for each in decided:
                    self._carry_out([each.request])
            return
        except BaseException as error:
            self._give_up(decided, _broken(error))
            raise
        try:
            feed(self._loader, self._log, self._log.poll(0) if has_written else ())
        except BaseException as error:
            self._give_up(decided, LogFenced(f"the change was written, but replay failed: {error}"))
            raise
        for each in decided:
            each.request.future.set_result(each.result.response)

    def _append(self, decided: Sequence[_Decided]) -> bool:
        """Write the records; False if there are none."""
        records = [record for each in decided for record in each.result.records]
        if not records:
            return False
        name = decided[0].request.transaction
        if name is None:
            self._log.append(self._epoch, records)
            return True
        level = self._loader.image.features.metadata_version or 0
        first, *others = transaction_batches(records, name, level)
        self._log.append(self._epoch, first)
        for batch in others:
            try:
                self._log.append(self._epoch, batch)
            except InvalidRequest as error:
                raise LogFenced(f"the transaction could not be completed: {error}") from error
        return True

    def _decided(self, group: Sequence[_Request]) -> list[_Decided]:
        """The results of ``group``, without the requests that failed."""
        image = self._loader.image
        decided = []
        for request in group:
            try:
                result = request.change(image)
                if result.records:
                    image = _after(image, result.records, is_last=request is group[-1])
            except Exception as error:
                request.future.set_exception(error)
            else:
                decided.append(_Decided(request, result))
        return decided

    def _give_up(self, decided: Sequence[_Decided], error: Exception) -> None:
        _log.error("no further change is accepted: %s", error)
        self.stop(error)
        _fail([each.request for each in decided], error)


def _parts(group: Sequence[_Request]) -> Iterator[Sequence[_Request]]:
    for name, part in groupby(group, key=lambda request: request.transaction):
        requests = list(part)
        yield from [requests] if name is None else ([each] for each in requests)


def _no_op(image: MetadataImage) -> ControllerResult[None]:
    is_known = (image.features.metadata_version or 0) >= NO_OP_SINCE
    return ControllerResult([(NoOpRecord(), 0)] if is_known else (), None)


def each_of(results: Future[list[R]], count: int) -> list[Future[R]]:
    """A future for each of the ``count`` items of ``results``."""
    parts: list[Future[R]] = [Future() for _ in range(count)]

    def settle(done: Future[list[R]]) -> None:
        error = done.exception()
        if error is not None:
            for part in parts:
                part.set_exception(error)
        else:
            for part, result in zip(parts, done.result(), strict=True):
                part.set_result(result)

    for part in parts:
        part.set_running_or_notify_cancel()
    results.add_done_callback(settle)
    return parts


def _after(
    image: MetadataImage, records: Sequence[tuple[Message, int]], *, is_last: bool
) -> MetadataImage:
    """``image`` after ``records``; ``image`` itself if ``is_last``: no later request needs more.

    ``CorruptLog`` if a strict loader would stop at ``records``.
    """
    delta = MetadataDelta(image)
    delta.replay_all(enumerate(message for message, _ in records))
    if delta.doubtful:
        for message, version in records:
            if (doubt := doubt_about(encode_value(message, version))) is not None:
                raise CorruptLog(doubt.problem)
    return image if is_last else delta.apply(image.provenance)


def _fail(group: Sequence[_Request], error: Exception) -> None:
    for request in group:
        request.future.set_exception(error)


def _broken(error: BaseException) -> LogFenced:
    return LogFenced(f"the writer failed ({type(error).__name__}: {error})")
