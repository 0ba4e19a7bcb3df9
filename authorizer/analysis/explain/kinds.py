"""The kinds of near misses, the most informative first.

This module must not know how a kind is found, or how it is shown.
"""

from __future__ import annotations

from enum import Enum


class NearMissKind(Enum):
    """Why an ACL does not decide the question."""

    DENY_OVERRIDES = "DENY_OVERRIDES"
    """The ACL matches, but a DENY matches, too, and overrides it."""
    HOST_TEXT = "HOST_TEXT"
    """The host is the same address, but not as Java writes it (``::1`` is ``0:0:0:0:0:0:0:1``)."""
    HOST_FAMILY = "HOST_FAMILY"
    """The host is the same machine in the other address family (IPv4-mapped, loopback)."""
    HOST_SCOPE = "HOST_SCOPE"
    """The IPv6 addresses are equal, but their zones are not."""
    HOST_BLANK = "HOST_BLANK"
    """The host is the same, but has blanks before or after it."""
    PRINCIPAL_CASE = "PRINCIPAL_CASE"
    PRINCIPAL_BLANK = "PRINCIPAL_BLANK"
    PRINCIPAL_TYPE = "PRINCIPAL_TYPE"
    """The principal has the same name, but another type or none."""
    PRINCIPAL_DN = "PRINCIPAL_DN"
    """The principal is the same distinguished name in another order or spacing."""
    PRINCIPAL_SHORT_NAME = "PRINCIPAL_SHORT_NAME"
    """One principal is the common name, or the first part of the Kerberos name, of the other."""
    PRINCIPAL_STAR = "PRINCIPAL_STAR"
    """A ``*`` in a principal is a plain character, unless the whole principal is ``User:*``."""
    NAME_CASE = "NAME_CASE"
    NAME_BLANK = "NAME_BLANK"
    LITERAL_STAR = "LITERAL_STAR"
    """LITERAL ``foo*`` matches only the name ``foo*``; PREFIXED ``foo`` was meant."""
    LITERAL_PREFIX = "LITERAL_PREFIX"
    """The ACL's LITERAL name is a prefix of the resource's name; PREFIXED was meant."""
    PREFIXED_STAR = "PREFIXED_STAR"
    """PREFIXED ``foo*`` matches only names that begin with ``foo*``, star included."""
    PREFIX_ONE_OFF = "PREFIX_ONE_OFF"
    """The ACL's prefix is one edit away from a prefix of the resource's name."""
    WILDCARD_SKIPS_STAR = "WILDCARD_SKIPS_STAR"
    """LITERAL ``*`` does not match a longer name that begins with ``*``."""
    HOST_BLOCK_ONE_OFF = "HOST_BLOCK_ONE_OFF"
    """The host is a CIDR block, and the next larger block contains the client."""
    HOST_RANGE = "HOST_RANGE"
    """The host looks like a range of addresses, but Kafka compares it as plain text."""
    HOST_NAME = "HOST_NAME"
    """The host is not an address, so no client has it."""
    PRINCIPAL_TYPO = "PRINCIPAL_TYPO"
    NAME_TYPO = "NAME_TYPO"
    OPERATION_NOT_IMPLIED = "OPERATION_NOT_IMPLIED"
    """The ACL's operation is related to the question's operation, but does not imply it."""
    OPERATION = "OPERATION"
    HOST = "HOST"
    NAME = "NAME"
    """The ACL's and the resource's names have the same beginning."""
    RESOURCE_TYPE = "RESOURCE_TYPE"
    PRINCIPAL = "PRINCIPAL"

    @property
    def rank(self) -> int:
        """0 for the most informative kind."""
        return _RANKS[self]


_RANKS = {kind: rank for rank, kind in enumerate(NearMissKind)}
