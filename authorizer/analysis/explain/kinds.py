"""The kinds of near misses, the most informative first.

This module must not know how a kind is found, or how it is shown.
"""

from __future__ import annotations

from enum import Enum


class NearMissKind(Enum):
    """Why an ACL does not decide the question."""

    DENY_OVERRIDES = "DENY_OVERRIDES"
    """The ACL matches, but a DENY overrides it."""
    HOST_TEXT = "HOST_TEXT"
    """The host has a spelling that Java does not use, such as ``::1``."""
    HOST_FAMILY = "HOST_FAMILY"
    """The host is the client's address in the other family (IPv4-mapped, loopback)."""
    HOST_SCOPE = "HOST_SCOPE"
    """The host is the client's IPv6 address with another zone."""
    HOST_BLANK = "HOST_BLANK"
    PRINCIPAL_CASE = "PRINCIPAL_CASE"
    PRINCIPAL_BLANK = "PRINCIPAL_BLANK"
    PRINCIPAL_TYPE = "PRINCIPAL_TYPE"
    """The principal has the right name, but another type or no type."""
    PRINCIPAL_DN = "PRINCIPAL_DN"
    """The principal is the same distinguished name in another order or spacing."""
    PRINCIPAL_SHORT_NAME = "PRINCIPAL_SHORT_NAME"
    """One principal is the CN in the other principal's DN, or the start of its Kerberos name."""
    PRINCIPAL_STAR = "PRINCIPAL_STAR"
    """A ``*`` at the principal's end is a plain character: only ``User:*`` is a wildcard."""
    NAME_CASE = "NAME_CASE"
    NAME_BLANK = "NAME_BLANK"
    LITERAL_STAR = "LITERAL_STAR"
    """LITERAL ``foo*`` matches only the name ``foo*``; PREFIXED ``foo`` was meant."""
    LITERAL_PREFIX = "LITERAL_PREFIX"
    """The ACL's LITERAL name is a prefix of the resource's name; PREFIXED was meant."""
    PREFIXED_STAR = "PREFIXED_STAR"
    """PREFIXED ``foo*`` matches only names that begin with ``foo*``."""
    PREFIX_ONE_OFF = "PREFIX_ONE_OFF"
    """The ACL's prefix is one edit away from a prefix of the resource's name."""
    WILDCARD_SKIPS_STAR = "WILDCARD_SKIPS_STAR"
    """LITERAL ``*`` does not match a longer name that begins with ``*``."""
    HOST_BLOCK_ONE_OFF = "HOST_BLOCK_ONE_OFF"
    """The host is a CIDR block, and the next larger block contains the client."""
    HOST_RANGE = "HOST_RANGE"
    """The host looks like a range of addresses, but Kafka compares the text."""
    HOST_NAME = "HOST_NAME"
    """The host is not an address, so no client has it."""
    PRINCIPAL_TYPO = "PRINCIPAL_TYPO"
    NAME_TYPO = "NAME_TYPO"
    OPERATION_NOT_IMPLIED = "OPERATION_NOT_IMPLIED"
    """The two operations are related, as READ and DESCRIBE are."""
    OPERATION = "OPERATION"
    HOST = "HOST"
    NAME = "NAME"
    """The two names have the same beginning."""
    RESOURCE_TYPE = "RESOURCE_TYPE"
    PRINCIPAL = "PRINCIPAL"

    @property
    def rank(self) -> int:
        """0 for the most informative kind."""
        return _RANKS[self]


_RANKS = {kind: rank for rank, kind in enumerate(NearMissKind)}
