"""Encodes and decodes requests and responses, for either side of a connection.

The body's class determines the header's version. This module must not know what any message is for.
"""

from __future__ import annotations

import io
import struct
import sys
from typing import Any, Final, NamedTuple

from kio.serial import entity_writer
from kio.serial.errors import SerialError

from metalog.errors import InvalidRequest
from metalog.records.primitives.fields import UNWRITABLE
from metalog.wire import reader
from metalog.wire.frames import Malformed
from metalog.wire.schema import Body, request_type

_HEAD: Final = struct.Struct(">hhi")


class RequestHeader(NamedTuple):
    """The fields at the start of every version of the header."""

    api_key: int
    version: int
    correlation_id: int


class WireRequest(NamedTuple):
    head: RequestHeader
    client_id: str | None
    body: Body


class UnreadRequest:
    """A request whose body is decoded at its first use: most refusals do not need the body.

    ``client_id`` and ``body`` raise the errors of ``read_request``.
    """

    __slots__ = ("_most_elements", "_payload", "_request", "head")

    def __init__(self, head: RequestHeader, payload: bytes, most_elements: int) -> None:
        self.head = head
        self._payload = payload
        self._most_elements = most_elements
        self._request: WireRequest | None = None

    @property
    def client_id(self) -> str | None:
        return self.read().client_id

    @property
    def body(self) -> Body:
        return self.read().body

    def read(self) -> WireRequest:
        if self._request is None:
            self._request = read_request(self._payload, most_elements=self._most_elements)
        return self._request

    def count(self) -> int:
        """The length of the array at the start of the body, without decoding the items."""
        declared, at = _read_header(self.head, self._payload, self._most_elements)[:2]
        return reader.read_count(declared, self._payload, at, most_elements=self._most_elements)


def read_head(payload: bytes) -> RequestHeader:
    """The first fields of a request; ``Malformed`` if ``payload`` is too short for them."""
    if len(payload) < _HEAD.size:
        raise Malformed(f"a request of {len(payload)} bytes is shorter than its header")
    return RequestHeader(*_HEAD.unpack_from(payload))


def read_request(payload: bytes, *, most_elements: int = sys.maxsize) -> WireRequest:
    """Decode a request.

    As in Kafka, bytes after the body are ignored. librdkafka sends one byte too many in
    AlterUserScramCredentials.

    Raises:
        UnsupportedVersion: no class declares this API key and version.
        Malformed: the bytes are not a request of this API key and version.
        TooManyElements: the header or the body has more than ``most_elements`` elements of arrays
            and tagged fields.
    """
    head = read_head(payload)
    declared, at, client_id = _read_header(head, payload, most_elements)
    body, _ = reader.read(declared, payload, at, most_elements=most_elements)
    return WireRequest(head, client_id, body)


def _read_header(
    head: RequestHeader, payload: bytes, most_elements: int
) -> tuple[type[Body], int, str | None]:
    """The body's class, the body's position, and the client's id."""
    declared = request_type(head.api_key, head.version)
    header, at = reader.read(declared.__header_schema__, payload, most_elements=most_elements)
    return declared, at, header.client_id


def write_request(body: Body, correlation_id: int, client_id: str | None) -> bytes:
    declared = type(body)
    header = declared.__header_schema__(
        request_api_key=declared.__api_key__,
        request_api_version=declared.__version__,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return write_data(header, body)


def correlation_of(payload: bytes) -> int:
    """The correlation id of a response."""
    if len(payload) < 4:
        raise Malformed(f"a response of {len(payload)} bytes is shorter than its header")
    return int.from_bytes(payload[:4], "big", signed=True)


def read_response(payload: bytes, declared: type[Body]) -> Body:
    """Decode the body of a response as the class ``declared``."""
    _, at = reader.read(declared.__header_schema__, payload)
    body, _ = reader.read(declared, payload, at)
    return body


def write_response(body: Body, correlation_id: int) -> bytes:
    header = type(body).__header_schema__(correlation_id=correlation_id)
    return write_data(header, body)


def write_data(*parts: Any) -> bytes:
    """The bytes of the structures ``parts``; ``InvalidRequest`` if a part cannot be written."""
    out = io.BytesIO()
    try:
        for part in parts:
            entity_writer(type(part))(out, part)
    except (SerialError, *UNWRITABLE) as error:
        raise InvalidRequest(f"{type(parts[-1]).__name__} cannot be written: {error}") from None
    return out.getvalue()
