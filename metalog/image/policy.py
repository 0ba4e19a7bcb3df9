"""Which records a loader may pass over, and which it must stop at.

Nothing that decides who may do what, or who somebody is, may fail open: a record of
those types that cannot be read, contradicts the state or may not mean what it seems to
stops a strict loader. So does a record whose type cannot be told, a control record that
Kafka would stop at, and a transaction's marker, since each may stand for such a record.
Any other is counted and passed over: a partition that nobody understands must not keep a
revoked ACL in force.

This module must not know logs, offsets or what is committed.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from metalog.image import acls, scram
from metalog.image.doubt import NOT_UTF8
from metalog.image.subjects import SUBJECTS
from metalog.records.frame import Undecodable, decode_value, encode_value
from metalog.records.message import Message
from metalog.records.messages import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from metalog.records.messages.registry import message_type

MARKERS: Final[frozenset[type[Message]]] = frozenset(
    {BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord}
)
"""What begins or ends a metadata transaction."""
_MARKED: Final = frozenset(kind.API_KEY for kind in MARKERS)
_CONCERNING: Final = _MARKED | frozenset(
    record.API_KEY
    for subject in SUBJECTS
    if subject.concerns_authorization
    for record in subject.records
    if issubclass(record, Message)
)

_WITHOUT_TYPE: Final = "record without a type"
_CONTROL: Final = "unreadable control record"


def concerns_authorization(message: Any) -> bool:
    """Whether a strict loader must not pass over ``message``."""
    if type(message) is Undecodable and message.control_type is not None:
        return message.lenient is None
    api_key = message.api_key if type(message) is Undecodable else message.API_KEY
    return api_key is None or api_key in _CONCERNING


def may_be_marker(message: Any) -> bool:
    """Whether ``message`` cannot be read and may begin or end a transaction."""
    return type(message) is Undecodable and (message.api_key is None or message.api_key in _MARKED)


def readable_of(message: Any) -> Any | None:
    """The metadata record in place of which ``message`` stands, as Kafka's reader refuses it
    though it reads well; None of any other, and of a transaction's marker."""
    if type(message) is not Undecodable or message.control_type is not None:
        return None
    readable: Any = message.lenient
    return None if readable is None or readable.API_KEY in _MARKED else readable


def name_of(message: Any) -> str:
    """What ``message`` is, for a count by type."""
    if type(message) is not Undecodable:
        return str(message.TYPE_NAME)
    if message.control_type is not None:
        return _CONTROL if message.lenient is None else message.lenient.TYPE_NAME
    if message.api_key is None:
        return _WITHOUT_TYPE if message.lenient is None else message.lenient.TYPE_NAME
    kind = message_type(message.api_key)
    return f"record type {message.api_key}" if kind is None else kind.TYPE_NAME


class RecordDoubt(NamedTuple):
    """A record that can be read, and why it may not mean what it seems to."""

    record_type: str
    problem: str


def doubt_about(value: bytes) -> RecordDoubt | None:
    """What is doubtful about the record in ``value``.

    Text with U+FFFD in it is beyond doubt if the bytes are its own.
    """
    version, message = decode_value(value)
    if isinstance(message, AccessControlEntryRecord):
        reason = acls.may_mislead(message)
    elif isinstance(message, UserScramCredentialRecord | RemoveUserScramCredentialRecord):
        reason = scram.may_mislead(message)
    else:
        return None
    if reason is None or (reason == NOT_UTF8 and encode_value(message, version) == value):
        return None
    return RecordDoubt(message.TYPE_NAME, f"{message.TYPE_NAME} {reason}")
