"""Decides which faulty records a strict loader may skip, and which must stop the loader.

Authorization and authentication must not fail open. A record is faulty if it is unreadable,
contradicts the state, or perhaps does not mean what it seems to mean. A strict loader stops at

- a faulty record of ACLs, SCRAM credentials or delegation tokens,
- a faulty record that begins or ends a transaction,
- a record with an unreadable type,
- a record of any type that Kafka's reader refuses,
- a control record at which Kafka stops.

The loader counts and skips other faulty records: if it stopped, it would miss later removals of
ACLs. Of these records, it applies those with an unknown version, because Kafka does not check
versions (``readable_of``).

This module must not know logs, offsets or what is committed.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from metalog.image.state import acls, scram
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
from metalog.records.primitives.text import NOT_UTF8

MARKERS: Final[frozenset[type[Message]]] = frozenset(
    {BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord}
)
"""The types of the records that begin or end a metadata transaction."""
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
    """Whether a strict loader must stop at ``message`` if ``message`` is faulty."""
    if type(message) is Undecodable and message.control_type is not None:
        return message.lenient is None
    api_key = message.api_key if type(message) is Undecodable else message.API_KEY
    return api_key is None or api_key in _CONCERNING


def may_be_marker(message: Any) -> bool:
    """Whether ``message`` is unreadable and perhaps begins or ends a transaction."""
    if type(message) is not Undecodable or readable_of(message) is not None:
        return False
    return message.api_key is None or message.api_key in _MARKED


def readable_of(message: Any) -> Any | None:
    """The readable record in an Undecodable ``message``, or None.

    Its version is unknown, or Kafka refuses the record. Control records, and records that begin or
    end a transaction, give None.
    """
    if type(message) is not Undecodable or message.control_type is not None:
        return None
    readable: Any = message.lenient
    return None if readable is None or readable.API_KEY in _MARKED else readable


def name_of(message: Any) -> str:
    """The name of the type of ``message``, for counts by type."""
    if type(message) is not Undecodable:
        return str(message.TYPE_NAME)
    if message.control_type is not None:
        return _CONTROL if message.lenient is None else message.lenient.TYPE_NAME
    if message.api_key is None:
        return _WITHOUT_TYPE if message.lenient is None else message.lenient.TYPE_NAME
    kind = message_type(message.api_key)
    return f"record type {message.api_key}" if kind is None else kind.TYPE_NAME


class RecordDoubt(NamedTuple):
    """A readable record that perhaps does not mean what it seems to mean; ``problem`` says why."""

    record_type: str
    problem: str


def doubt_about(value: bytes) -> RecordDoubt | None:
    """The doubt about the record in ``value``, or None.

    Text with U+FFFD is not doubtful if the record's bytes encode U+FFFD.
    """
    version, message = decode_value(value)
    if isinstance(message, AccessControlEntryRecord):
        reason = acls.why_doubtful(message)
    elif isinstance(message, UserScramCredentialRecord | RemoveUserScramCredentialRecord):
        reason = scram.why_doubtful(message)
    else:
        return None
    if reason is None or (reason == NOT_UTF8 and encode_value(message, version) == value):
        return None
    return RecordDoubt(message.TYPE_NAME, f"{message.TYPE_NAME} {reason}")
