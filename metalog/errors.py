"""The two families of errors: faults of the caller, and faults of the data.

An ``InvalidRequest`` has an error code. Every message is one line. This module must not
know how an error is shown or sent.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar, Final, NamedTuple


class ErrorCode(IntEnum):
    """Some error codes of Kafka 4.4 (``org.apache.kafka.common.protocol.Errors``).

    The codes from 20,000 are ours: KIP-506 and KIP-801 name these errors without numbers.
    """

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
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
    """The result of one item of a request: an error code, and a message or None."""

    code: ErrorCode = ErrorCode.NONE
    message: str | None = None

    def __bool__(self) -> bool:
        """Whether the item failed."""
        return self.code is not ErrorCode.NONE


SUCCESS: Final = ApiError()


def _uninitialized(kind: type[MetalogError], args: tuple[Any, ...]) -> MetalogError:
    error = kind.__new__(kind)
    error.args = args
    return error


class MetalogError(Exception):
    """The base class of this project's errors."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle without ``__init__``, whose parameters differ between classes."""
        return _uninitialized, (type(self), self.args), vars(self)


class InvalidRequest(MetalogError):
    """The caller's request cannot be carried out."""

    code: ClassVar[ErrorCode] = ErrorCode.INVALID_REQUEST


class InvalidSource(InvalidRequest):
    """A SOURCE that cannot be opened: it is missing, unreadable, or of the wrong kind."""


class Unanswered(InvalidSource):
    """A cluster gives no usable answer now; the same request can succeed later."""


class InvalidTarget(InvalidRequest):
    """A TARGET, log or folder that cannot be written to, or cannot receive a change."""


class ConfigException(InvalidRequest):
    """A setting that cannot be used (Kafka's ConfigException)."""


class NotController(InvalidRequest):
    """This process cannot change the log."""

    code = ErrorCode.NOT_CONTROLLER


class LogFenced(NotController):
    """This process is not the log's writer; the message says why."""


class InvalidMoment(InvalidRequest):
    """A point in time that cannot be parsed, or that is outside the log."""


class AuthorizerNotReady(InvalidRequest):
    """The authorizer is closed, or its image is incomplete or too old (KIP-801)."""

    code = ErrorCode.AUTHORIZER_NOT_READY


class LoadTimeout(AuthorizerNotReady, TimeoutError):
    """The timeout passed before the log was replayed; the message has the reason, if known."""


class CorruptLog(MetalogError):
    """Damaged or contradictory data.

    ``file`` is a file, topic or address. ``offset`` is the log offset, and ``byte`` is the position
    in the file. ``advice`` says what to do.
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
        """A copy of the error; the arguments fill in a missing file, offset or byte."""
        return type(self)(
            self.problem,
            file=self.file if self.file is not None else file,
            offset=self.offset if self.offset is not None else offset,
            byte=self.byte if self.byte is not None else byte,
            advice=self.advice,
        )

    @property
    def found(self) -> str:
        """The message, without the advice that some people cannot follow."""
        where = [] if self.file is None else [self.file]
        if self.offset is not None:
            where.append(f"offset {self.offset}")
        if self.byte is not None:
            where.append(f"byte {self.byte}")
        return f"{', '.join(where)}: {self.problem}" if where else self.problem

    def __str__(self) -> str:
        return f"{self.found}; {self.advice}" if self.advice else self.found


class CorruptSnapshot(CorruptLog):
    """A snapshot that is incomplete or damaged, or whose contents contradict its name."""


class UnreadableRecord(CorruptLog):
    """A record that cannot be read with certainty."""


class UncertainSource(CorruptLog):
    """Data that perhaps concerns authorization could not be read, so no answer is certain."""


def forget_frames(fault: BaseException | None) -> None:
    """Remove the tracebacks of a stored fault, because tracebacks keep objects alive."""
    while fault is not None:
        fault.__traceback__ = None
        fault = fault.__cause__ or fault.__context__
