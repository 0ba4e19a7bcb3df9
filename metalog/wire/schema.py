"""Finds the class that declares a request or a response: ours, or the library kio's.

This module must not know what any message is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import kio.index
from kio.schema.errors import ErrorCode as KafkaErrorCode
from kio.static.constants import EntityType

from metalog.errors import ErrorCode, InvalidRequest
from metalog.wire.declared import acls_v0, extensions, newest

Body = Any
"""A request or response: an instance of a frozen dataclass of kio or of ``declared``."""


_OUR_REQUESTS: Final = {**extensions.REQUESTS, **acls_v0.REQUESTS, **newest.REQUESTS}
_OUR_RESPONSES: Final = {**extensions.RESPONSES, **acls_v0.RESPONSES, **newest.RESPONSES}
_OUR_RESPONSE_PARTS: Final = {**acls_v0.RESPONSE_PARTS, **newest.RESPONSE_PARTS}


class UnsupportedVersion(InvalidRequest):
    """An unknown API, or an unknown version of an API."""

    code = ErrorCode.UNSUPPORTED_VERSION

    def __init__(self, api_key: int, version: int) -> None:
        super().__init__(f"API {api_key} is unknown in version {version}")
        self.api_key = api_key
        self.version = version


@cache
def request_type(api_key: int, version: int) -> type[Body]:
    """The class of a request; ``UnsupportedVersion`` if no class declares it."""
    return _declared(_OUR_REQUESTS, kio.index.load_request_schema, api_key, version)


@cache
def response_type(api_key: int, version: int) -> type[Body]:
    """The class of a response; ``UnsupportedVersion`` if no class declares it."""
    return _declared(_OUR_RESPONSES, kio.index.load_response_schema, api_key, version)


def _declared(
    ours: Mapping[tuple[int, int], type[Body]],
    load_from_kio: Callable[[int, int], type[Body]],
    api_key: int,
    version: int,
) -> type[Body]:
    declared = ours.get((api_key, version))
    if declared is not None:
        return declared
    try:
        return load_from_kio(api_key, version)
    except kio.index.KioIndexError:
        raise UnsupportedVersion(api_key, version) from None


@cache
def request_parts(api_key: int, version: int) -> Any:
    """A namespace with the class of a request, and the classes of the request's structures."""
    ours = acls_v0.REQUEST_PARTS.get((api_key, version))
    return ours or kio.index.load_payload_module(api_key, version, EntityType.request)


@cache
def response_parts(api_key: int, version: int) -> Any:
    ours = _OUR_RESPONSE_PARTS.get((api_key, version))
    return ours or kio.index.load_payload_module(api_key, version, EntityType.response)


def error_name(code: int) -> str:
    """The name of an error code, Kafka's or ours; ``error N`` if it has no name."""
    for codes in (ErrorCode, KafkaErrorCode):
        try:
            return codes(code).name.upper()
        except ValueError:
            continue
    return f"error {code}"
