"""Declares APIs and versions of Kafka 4.4 that kio does not have yet, in the same way as kio.

Delete this module when kio has these versions. It must not know what any message is for. It must
not import ``annotations`` from ``__future__``, because its annotations are read at run time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar, Final

from kio.schema.api_versions.v4 import request, response
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, i32Timedelta

API_VERSIONS: Final = 18
UNREGISTER_CONTROLLER: Final = 94


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest(request.ApiVersionsRequest):
    """Version 5 (KIP-1242), with the ids that the client expects; None and -1 mean no id."""

    __version__: ClassVar[i16] = i16(5)
    cluster_id: str | None = field(metadata={"kafka_type": "string"}, default=None)
    node_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse(response.ApiVersionsResponse):
    __version__: ClassVar[i16] = i16(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterControllerRequest:
    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(UNREGISTER_CONTROLLER)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    controller_id: i32 = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterControllerResponse:
    """kio has no name for some of the error codes."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(UNREGISTER_CONTROLLER)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    error_code: i16 = field(metadata={"kafka_type": "int16"})
    error_message: str | None = field(metadata={"kafka_type": "string"})


REQUESTS: Final[Mapping[tuple[int, int], type[Any]]] = {
    (API_VERSIONS, 5): ApiVersionsRequest,
    (UNREGISTER_CONTROLLER, 0): UnregisterControllerRequest,
}
RESPONSES: Final[Mapping[tuple[int, int], type[Any]]] = {
    (API_VERSIONS, 5): ApiVersionsResponse,
    (UNREGISTER_CONTROLLER, 0): UnregisterControllerResponse,
}
RESPONSE_PARTS: Final[Mapping[tuple[int, int], Any]] = {
    (API_VERSIONS, 5): SimpleNamespace(
        ApiVersionsResponse=ApiVersionsResponse,
        ApiVersion=response.ApiVersion,
        SupportedFeatureKey=response.SupportedFeatureKey,
        FinalizedFeatureKey=response.FinalizedFeatureKey,
    )
}
"""By API key and version: the class of a response and the classes of the structures in it."""
