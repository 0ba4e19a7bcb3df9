"""ApiVersions, for either side of a connection, and the choice of an API's version.

A peer that does not support the requested version of ApiVersions answers in version 0, with error
35 and its range of versions of ApiVersions (KIP-511). This module must not send anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kio.schema.errors import ErrorCode as KafkaErrorCode

from metalog.errors import ErrorCode, InvalidRequest
from metalog.wire.frames import Malformed
from metalog.wire.messages import read_response, write_response
from metalog.wire.schema import Body, error_name, request_type, response_parts, response_type

API_VERSIONS: Final = 18
SOFTWARE: Final = "kraft-metalog"
_CACHE_SIZE: Final = 32
"""An answer depends on listener, version, error and features."""


class VersionRange(NamedTuple):
    """A range of versions that includes both ends."""

    least: int
    most: int


Versions = Mapping[int, VersionRange]
"""The range of versions by API key."""


class PeerVersions(NamedTuple):
    """The API versions that a peer supports, and its supported and finalized features (KIP-584)."""

    apis: Versions
    features: Mapping[str, VersionRange]
    finalized: Mapping[str, int]


class NoCommonVersion(InvalidRequest):
    """The peer and this client have no version of an API in common."""

    code = ErrorCode.UNSUPPORTED_VERSION


def best_version(api_key: int, theirs: Versions, ours: Iterable[int]) -> int:
    """The highest common version; ``NoCommonVersion`` if there is none."""
    their = theirs.get(api_key)
    common = [] if their is None else [each for each in ours if their.least <= each <= their.most]
    if not common:
        raise NoCommonVersion(
            f"the peer and this client have no version of API {api_key} in common"
        )
    return max(common)


def versions_request(version: int, software_version: str) -> Body:
    declared = request_type(API_VERSIONS, version)
    if version < 3:
        return declared()
    return declared(client_software_name=SOFTWARE, client_software_version=software_version)


class ApiVersionsRefused(NamedTuple):
    """The peer does not have the requested version of ApiVersions; retry with ``version``."""

    version: int


def read_versions(payload: bytes, requested: int) -> PeerVersions | ApiVersionsRefused:
    """The peer's answer to ApiVersions in version ``requested``."""
    code = int.from_bytes(payload[4:6], "big", signed=True)
    is_refusal = code == ErrorCode.UNSUPPORTED_VERSION and requested > 0
    body = read_response(payload, response_type(API_VERSIONS, 0 if is_refusal else requested))
    ranges = {
        each.api_key: VersionRange(each.min_version, each.max_version) for each in body.api_keys
    }
    if is_refusal:
        return ApiVersionsRefused(
            min(ranges.get(API_VERSIONS, VersionRange(0, 0)).most, requested - 1)
        )
    if code != ErrorCode.NONE:
        raise Malformed(f"the peer refuses ApiVersions: {error_name(code)}")
    features = {
        each.name: VersionRange(each.min_version, each.max_version)
        for each in getattr(body, "supported_features", ())
    }
    finalized = {
        each.name: each.max_version_level for each in getattr(body, "finalized_features", ())
    }
    return PeerVersions(ranges, features, finalized)


class Features(NamedTuple):
    """A node's features; ``finalized`` are the levels at the log's offset ``epoch``."""

    supported: Mapping[str, VersionRange]
    finalized: Mapping[str, int]
    epoch: int


def versions_response(
    version: int, code: ErrorCode, apis: Versions, features: Features | None = None
) -> Body:
    """The answer to ApiVersions; with ``UNSUPPORTED_VERSION``, ``version`` must be 0."""
    parts = response_parts(API_VERSIONS, version)
    ranges = tuple(
        parts.ApiVersion(api_key=key, min_version=each.least, max_version=each.most)
        for key, each in sorted(apis.items())
    )
    throttling = {"throttle_time": timedelta()} if version > 0 else {}
    more = _features(parts, version, features) if features and version >= 3 else {}
    return parts.ApiVersionsResponse(
        error_code=KafkaErrorCode(code), api_keys=ranges, **throttling, **more
    )


def versions_payload(
    version: int, code: ErrorCode, apis: Versions, features: Features | None, correlation_id: int
) -> bytes:
    """The bytes of ``versions_response``, cached because clients can repeat ApiVersions without a
    login."""
    key = None
    if features is not None:
        key = (*(tuple(each.items()) for each in features[:2]), features.epoch)
    written = _written(version, code, tuple(apis.items()), key)
    return correlation_id.to_bytes(4, "big", signed=True) + written


_FeaturesKey = tuple[tuple[tuple[str, VersionRange], ...], tuple[tuple[str, int], ...], int]


@lru_cache(_CACHE_SIZE)
def _written(
    version: int,
    code: ErrorCode,
    apis: tuple[tuple[int, VersionRange], ...],
    key: _FeaturesKey | None,
) -> bytes:
    """The bytes after the correlation id, which is the whole header of this response."""
    features = None if key is None else Features(dict(key[0]), dict(key[1]), key[2])
    return write_response(versions_response(version, code, dict(apis), features), 0)[4:]


def _features(parts: Any, version: int, features: Features) -> dict[str, object]:
    """As in Kafka, version 3 lacks the features with a lowest level of 0, because clients with
    version 3 cannot read 0."""
    supported = tuple(
        parts.SupportedFeatureKey(name=name, min_version=each.least, max_version=each.most)
        for name, each in sorted(features.supported.items())
        if version > 3 or each.least > 0
    )
    finalized = tuple(
        parts.FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
        for name, level in sorted(features.finalized.items())
    )
    return {
        "supported_features": supported,
        "finalized_features": finalized,
        "finalized_features_epoch": features.epoch,
    }
