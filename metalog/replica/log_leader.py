"""Leads a log: claims the log, carries out queued changes, and resigns.

Publishers that change ACLs (``UsesAclMutator``) get the ``LogLeader`` when this node begins to
lead, and None when this node stops leading. Any thread may call the methods of ``ChangeSubmitter``.
This module must not know how a log is followed, nor what a change does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from metalog.errors import InvalidTarget, LogFenced, NotController, Unanswered
from metalog.ids import Entropy
from metalog.loader import Loader, feed
from metalog.ports import Candidacy, Log, Publisher, UsesAclMutator, WritableLog
from metalog.replica.submits import ChangeSubmitter
from metalog.replica.write_queue import WriteQueue

_log = logging.getLogger(__name__)


class LogLeader(ChangeSubmitter):
    """Writes a ``WritableLog`` always, and any other log while this node is elected.

    Args:
        candidacy: takes part in elections; None if the log has no elections.
        idle_s: write a NoOp record after this many seconds without a change; None: never.
        entropy: the source of random ids and salts.
        kafka: the version of Kafka that decides which changes are refused.
    """

    def __init__(
        self,
        log: Log,
        loader: Loader,
        publishers: Iterable[Publisher],
        candidacy: Candidacy | None,
        idle_s: float | None,
        entropy: Entropy,
        kafka: str | None,
    ) -> None:
        super().__init__(entropy, kafka)
        self._loader = loader
        self._mutator_users = [each for each in publishers if isinstance(each, UsesAclMutator)]
        self._candidacy = candidacy
        self._idle_s = idle_s
        self._queue = WriteQueue(log, loader) if isinstance(log, WritableLog) else None
        self._has_writable_log = self._queue is not None

    @property
    def is_active(self) -> bool:
        return self._queue is not None and self._queue.is_claimed

    @property
    def has_writable_log(self) -> bool:
        """Whether this node leads without an election."""
        return self._has_writable_log

    @property
    def is_elected(self) -> bool:
        return self._candidacy is not None and self._candidacy.is_elected

    @property
    def fence(self) -> Exception | None:
        """Why this node refuses changes while it writes the log, or None."""
        queue = self._queue
        return None if queue is None else queue.refusal

    @property
    def _writer(self) -> WriteQueue:
        return self.active_queue()

    def active_queue(self) -> WriteQueue:
        """The queue of changes; ``NotController`` while this node does not write the log."""
        queue = self._queue
        if queue is None and self._candidacy is not None:
            raise NotController("another node is active, or no node is active yet")
        if queue is None:
            raise NotController("this replica only reads its log; open a log that can be written")
        return queue

    def begin(self) -> None:
        """Claim the log, or stand for election; raises the errors of ``WritableLog.claim``."""
        if self._queue is not None:
            self._queue.claim()
            self._offer(self)
        if self._candidacy is not None:
            self._candidacy.stand(self._step_down)

    def lead(self, is_closing: Callable[[], bool]) -> None:
        """Carry out changes without an election, until ``is_closing()``."""
        queue = self.active_queue()
        queue.activate()
        while not is_closing():
            queue.carry_out_next(self._idle_s)

    def lead_until_dismissed(self, is_closing: Callable[[], bool]) -> None:
        """Claim the log, and carry out changes.

        Returns when this node is no longer elected, when a write fails, or when ``is_closing()``.
        """
        candidacy = self._candidacy
        if candidacy is None:
            raise NotController("this log has no elections")
        log = candidacy.writer()
        queue = WriteQueue(log, self._loader)
        try:
            queue.claim()
            feed(self._loader, log, log.read(self._loader.position))
            queue.activate(candidacy.first_records())
            self._queue = queue
            self._offer(self)
            _log.info("this node is active from offset %s on", self._loader.position)
            while candidacy.is_elected and queue.refusal is None and not is_closing():
                queue.carry_out_next(self._idle_s)
        except (InvalidTarget, Unanswered, NotController) as fault:
            _log.warning("this node cannot be active: %s", fault)
        finally:
            self._queue = None
            self._offer(None)
            queue.stop(_no_longer_active())
            queue.close()
            if candidacy.is_elected and not is_closing():
                candidacy.resign()
        _log.info("this node is not active and follows the log")

    def fail_waiting(self, fault: Exception | None) -> None:
        if self._queue is not None:
            self._queue.fail_waiting(fault)

    def stop(self) -> None:
        """Refuse further changes. Call ``close`` after the replica's thread has ended."""
        queue = self._queue
        if queue is not None:
            queue.stop(LogFenced("the replica was closed"))

    def close(self) -> None:
        """Close the candidacy, and a log that this node writes. Further calls are allowed."""
        if self._queue is not None:
            self._queue.close()
            self._offer(None)
        if self._candidacy is not None:
            self._candidacy.close()

    def _offer(self, mutator: LogLeader | None) -> None:
        for each in self._mutator_users:
            each.set_acl_mutator(mutator)

    def _step_down(self) -> None:
        queue = self._queue
        if queue is not None:
            queue.stop(_no_longer_active())


def _no_longer_active() -> NotController:
    return NotController("this node is no longer active; send the request to the active node")
