"""Checks the host of a new ACL by the rules of the Kafka version that creates the ACL.

Kafka 4.3 accepts any text. Kafka 4.4 refuses an empty text, and a text with a slash that is not a
CIDR block (KIP-1276). The metadata.version must allow CIDR blocks. Error codes and messages are
Kafka's. This module must not know the stored ACLs, nor what an ACL decides.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from metalog.errors import SUCCESS, ApiError, ErrorCode
from metalog.hosts.host_block import HostBlock, read_block
from metalog.image.state.features import (
    CIDR_HOSTS_SINCE,
    LATEST_METADATA_VERSIONS,
    METADATA_VERSIONS,
    FeaturesImage,
)

_EMPTY: Final = ApiError(ErrorCode.INVALID_REQUEST, "Host pattern cannot be null or empty")
_TOO_EARLY: Final = ApiError(
    ErrorCode.UNSUPPORTED_VERSION,
    "CIDR-based ACL host patterns require metadata version"
    f" {METADATA_VERSIONS[CIDR_HOSTS_SINCE]} or higher.",
)


class AclVersions(NamedTuple):
    """The versions that decide which hosts are valid: Kafka's, such as ``4.4``, and the
    metadata.version."""

    kafka: str
    metadata_version: int


def versions_of_log(features: FeaturesImage, kafka: str | None = None) -> AclVersions:
    """The versions for a log; the default of ``kafka`` is the log's ``assumed_kafka``."""
    return AclVersions(kafka or features.assumed_kafka, features.metadata_version or 0)


def versions_of_cluster(supported: int, finalized: int) -> AclVersions:
    """The versions for a cluster whose metadata.version is ``finalized``. ``supported`` is the
    newest metadata.version that the cluster supports."""
    oldest, *others = LATEST_METADATA_VERSIONS
    newer = [kafka for kafka in others if LATEST_METADATA_VERSIONS[kafka] <= supported]
    return AclVersions(newer[-1] if newer else oldest, finalized)


def why_no_acl(host: str, versions: AclVersions) -> ApiError:
    """Why no ACL with ``host`` can be created in ``versions``, or SUCCESS."""
    if LATEST_METADATA_VERSIONS[versions.kafka] < CIDR_HOSTS_SINCE:
        return SUCCESS
    if not host:
        return _EMPTY
    if "/" not in host:
        return SUCCESS
    if versions.metadata_version < CIDR_HOSTS_SINCE:
        return _TOO_EARLY
    block = read_block(host)
    if isinstance(block, HostBlock):
        return SUCCESS
    return ApiError(ErrorCode.INVALID_REQUEST, f"Invalid CIDR notation '{host}': {block}")
