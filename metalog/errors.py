"""The two families of errors: the caller's fault and the data's fault.

``InvalidRequest`` and its subclasses carry the name and code of Kafka's own
error (``org.apache.kafka.common.protocol.Errors``). ``CorruptLog`` and its
subclasses say which file, which offset, which byte. Nothing else escapes a
decoder, whatever the bytes. Every message is one line: what, where, what to do.

This module must not know how an error is shown or sent.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar, Final, NamedTuple


class ErrorCode(IntEnum):
    """Kafka's error codes that we answer with, by Kafka's names, and those of Kafka 4.4.

    Those from 20,000 up are ours: KIP-506 and KIP-801 name them, Kafka never numbered them.
    """

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    LEADER_NOT_AVAILABLE = 5
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_SASL_MECHANISM = 33
    UNSUPPORTED_VERSION = 35
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    POLICY_VIOLATION = 44
    SECURITY_DISABLED = 54
    SASL_AUTHENTICATION_FAILED = 58
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    REBOOTSTRAP_REQUIRED = 129
    GROUP_DELETION_FAILED = 134
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135
    CONTROLLER_ID_NOT_REGISTERED = 136
    AUTHORIZER_NOT_READY = 20_000
    ENCRYPTION_REQUIRED = 20_001
    USER_AUTHORIZATION_FAILED = 20_002


class ApiError(NamedTuple):
    """One item's outcome: Kafka's error code, and its message where there is one."""

    code: ErrorCode = ErrorCode.NONE
    message: str | None = None

    def __bool__(self) -> bool:
        """True for a failure."""
        return self.code is not ErrorCode.NONE


SUCCESS: Final = ApiError()


class MetalogError(Exception):
    """Anything that this project raises on purpose; ``str()`` of it is one line."""


class InvalidRequest(MetalogError):
    """The caller's fault. Kafka's INVALID_REQUEST (42) unless a subclass says otherwise."""

    code: ClassVar[ErrorCode] = ErrorCode.INVALID_REQUEST


class InvalidSource(InvalidRequest):
    """A SOURCE that cannot be opened: not there, not readable, or not what it was taken for."""


class Unanswered(InvalidSource):
    """A cluster that does not answer, or not yet: what was asked of it may be asked again."""


class InvalidTarget(InvalidRequest):
    """A TARGET that may not be written to, and what to use instead."""


class ConfigException(InvalidRequest):
    """A setting that cannot be used, by its key (Kafka's ConfigException)."""


class NotController(InvalidRequest):
    """Nothing here can change the log."""

    code = ErrorCode.NOT_CONTROLLER


class LogFenced(NotController):
    """This writer's time is over, for good: another one has come, or the disk failed it."""


class InvalidMoment(InvalidRequest):
    """A moment that cannot be read, or that the log does not reach."""


class AuthorizerNotReady(InvalidRequest):
    """The authorizer has not replayed up to the high-water mark yet (KIP-801)."""

    code = ErrorCode.AUTHORIZER_NOT_READY


class LoadTimeout(AuthorizerNotReady, TimeoutError):
    """The log was not replayed in the time given; the message has the reason, as far as known."""


class CorruptLog(MetalogError):
    """The data's fault.

    ``problem`` says what is wrong, ``file`` names the file (or topic or address) it was
    found in, ``offset`` is the log offset and ``byte`` the position in the file, each
    None where it is not known. ``advice`` says what to do about it.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        offset: int | None = None,
        byte: int | None = None,
        advice: str | None = None,
    ) -> None:
        super().__init__(problem, file, offset, byte, advice)
        self.problem = problem
        self.file = file
        self.offset = offset
        self.byte = byte
        self.advice = advice

    def located(
        self, *, file: str | None = None, offset: int | None = None, byte: int | None = None
    ) -> CorruptLog:
        """The same error, with each place filled in that was not known before."""
        return type(self)(
            self.problem,
            file=self.file if self.file is not None else file,
            offset=self.offset if self.offset is not None else offset,
            byte=self.byte if self.byte is not None else byte,
            advice=self.advice,
        )

    @property
    def found(self) -> str:
        """Where and what, without the advice: not every reader can follow it."""
        place = [] if self.file is None else [self.file]
        if self.offset is not None:
            place.append(f"offset {self.offset}")
        if self.byte is not None:
            place.append(f"byte {self.byte}")
        return f"{', '.join(place)}: {self.problem}" if place else self.problem

    def __str__(self) -> str:
        return f"{self.found}; {self.advice}" if self.advice else self.found


class CorruptSnapshot(CorruptLog):
    """A snapshot that is not whole, or whose contents contradict its name."""


class UnreadableRecord(CorruptLog):
    """A record that concerns authorization and that this version cannot read."""


class UncertainSource(CorruptLog):
    """What may concern authorization could not be read, so no answer is certain."""


def forget_frames(fault: BaseException | None) -> None:
    """Take the tracebacks off a fault that is kept: their frames keep all that was open there."""
    while fault is not None:
        fault.__traceback__ = None
        fault = fault.__cause__ or fault.__context__
