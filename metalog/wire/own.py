"""Versions of APIs that Kafka's schemas have not, declared as kio declares Kafka's.

Envelope in version 1 has the bytes of version 0, but its error code is any number: those that
Kafka never numbered are ours (docs/formats/README.md). This module must not know what any
message is for. The annotations are read when it runs, so they may not be put off.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from kio.schema.envelope.v0 import request, response
from kio.static.constants import EntityType
from kio.static.primitive import i16

ENVELOPE: Final = 58


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeRequest(request.EnvelopeRequest):
    """Version 1."""

    __version__: ClassVar[i16] = i16(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeResponse:
    """Version 1."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(ENVELOPE)
    __header_schema__: ClassVar = response.EnvelopeResponse.__header_schema__
    response_data: bytes | None = field(metadata={"kafka_type": "bytes"}, default=None)
    error_code: i16 = field(metadata={"kafka_type": "int16"})


REQUESTS: Final[Mapping[tuple[int, int], type[Any]]] = {(ENVELOPE, 1): EnvelopeRequest}
"""By API key and version."""
RESPONSES: Final[Mapping[tuple[int, int], type[Any]]] = {(ENVELOPE, 1): EnvelopeResponse}
