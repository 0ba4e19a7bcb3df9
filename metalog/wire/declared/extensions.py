"""Declares our APIs and versions, which Kafka's schemas do not have, in the same way as kio.

``envelope`` describes version 1 of Envelope. ScramPassword has the fields of KIP-506; its API key
is ours (docs/formats/README.md). This module must not know what any message is for. It must not
import ``annotations`` from ``__future__``, because its annotations are read at run time.

``metalog.controller.scram_password`` has the same five types without ``Wire`` in their names.
The types there are public API, with plain numbers. The types here are separate, because kio's
writer needs kio's number types, and only the wire and the node may import kio.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from kio.schema.envelope.v0 import request, response
from kio.schema.request_header.v1.header import RequestHeader
from kio.schema.response_header.v0.header import ResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i8, i16, i32Timedelta

ENVELOPE: Final = 58
SCRAM_PASSWORD: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeRequest(request.EnvelopeRequest):
    __version__: ClassVar[i16] = i16(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeResponse:
    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(ENVELOPE)
    __header_schema__: ClassVar = response.EnvelopeResponse.__header_schema__
    response_data: bytes | None = field(metadata={"kafka_type": "bytes"}, default=None)
    error_code: i16 = field(metadata={"kafka_type": "int16"})


class _ScramPassword:
    __slots__ = ()
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = False
    __api_key__: ClassVar[i16] = i16(SCRAM_PASSWORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class WireScramCredentials(_ScramPassword):
    """KIP-506's credential; a ``password`` of None deletes it, and ``repr`` hides the password."""

    __type__: ClassVar = EntityType.nested
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    username: str = field(metadata={"kafka_type": "string"})
    hash_type: i8 = field(metadata={"kafka_type": "int8"})
    password: str | None = field(metadata={"kafka_type": "string"}, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WireScramPasswordRequest(_ScramPassword):
    __type__: ClassVar = EntityType.request
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    credentials: tuple[WireScramCredentials, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireUserResult(_ScramPassword):
    __type__: ClassVar = EntityType.nested
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    username: str = field(metadata={"kafka_type": "string"})
    error_code: i16 = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WireHashResult(_ScramPassword):
    __type__: ClassVar = EntityType.nested
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    hash_type: i8 = field(metadata={"kafka_type": "int8"})
    user_results: tuple[WireUserResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireScramPasswordResponse(_ScramPassword):
    __type__: ClassVar = EntityType.response
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    hash_results: tuple[WireHashResult, ...]


REQUESTS: Final[Mapping[tuple[int, int], type[Any]]] = {
    (ENVELOPE, 1): EnvelopeRequest,
    (SCRAM_PASSWORD, 0): WireScramPasswordRequest,
}
RESPONSES: Final[Mapping[tuple[int, int], type[Any]]] = {
    (ENVELOPE, 1): EnvelopeResponse,
    (SCRAM_PASSWORD, 0): WireScramPasswordResponse,
}
