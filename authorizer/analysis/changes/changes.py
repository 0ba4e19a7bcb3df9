"""Lists the changes that a log's committed records make to ACLs and users.

The changes in a transaction take effect at its end; the changes in an aborted or open transaction
have no effect (KIP-868). This module must not know where records are read from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from authorizer.history.timeline import TimelineChange
from metalog.records.acl_codes import acl_of
from metalog.records.messages import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    RemoveAccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from metalog.scram import ScramMechanism

CHANGE_RECORDS: Final = (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    RemoveAccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
"""The record types that ``changes`` reads; a caller may leave out records of other types."""


class CredentialChange(NamedTuple):
    """The record at ``offset`` sets a credential, or removes it if ``iterations`` is None.

    ``time_ms`` and ``ended_by`` have the same meaning as in ``TimelineChange``.
    """

    offset: int
    user: str
    mechanism: ScramMechanism | None
    iterations: int | None
    time_ms: int = 0
    ended_by: int | None = None

    @property
    def at(self) -> int:
        """The lowest offset N such that the state before record N includes this change."""
        return (self.offset if self.ended_by is None else self.ended_by) + 1


Change = TimelineChange | CredentialChange


def changes(records: Iterable[tuple[int, int, Any]]) -> Iterator[Change]:
    """The changes in ``records``: offset, time and message of each record, in log order.

    The time is the highest time (ms) of all batches up to the record's batch.
    """
    pending: list[Change] | None = None
    for offset, time_ms, message in records:
        change = _change(offset, message, time_ms)
        if change is not None:
            if pending is None:
                yield change
            else:
                pending.append(change)
        elif isinstance(message, BeginTransactionRecord):
            pending = []
        elif isinstance(message, EndTransactionRecord | AbortTransactionRecord):
            if isinstance(message, EndTransactionRecord):
                for each in pending or ():
                    yield each._replace(time_ms=time_ms, ended_by=offset)
            pending = None


def _change(offset: int, message: Any, time_ms: int) -> Change | None:
    if isinstance(message, AccessControlEntryRecord):
        return TimelineChange(offset, message.id, acl_of(message), time_ms)
    if isinstance(message, RemoveAccessControlEntryRecord):
        return TimelineChange(offset, message.id, None, time_ms)
    if isinstance(message, UserScramCredentialRecord):
        mechanism = mechanism_of(message.mechanism)
        return CredentialChange(offset, message.name, mechanism, message.iterations, time_ms)
    if isinstance(message, RemoveUserScramCredentialRecord):
        return CredentialChange(
            offset, message.name, mechanism_of(message.mechanism), None, time_ms
        )
    return None


def mechanism_of(code: int) -> ScramMechanism | None:
    """The mechanism with this code in a record; None if it is unknown."""
    return ScramMechanism(code) if code in set(ScramMechanism) else None
