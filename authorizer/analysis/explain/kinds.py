"""The kinds of near misses, the most informative first.

This module must not know how a kind is found, or how it is shown.
"""

from __future__ import annotations

from enum import Enum


class NearMissKind(Enum):
    """Why an ACL does not decide the question; earlier members rank higher."""

    DENY_OVERRIDES = "DENY_OVERRIDES"
    """The ACL matches, but a DENY that also matches overrides it."""
    HOST_TEXT = "HOST_TEXT"
    """The same address, spelled as Java never spells it (``::1`` is ``0:0:0:0:0:0:0:1``)."""
    HOST_FAMILY = "HOST_FAMILY"
    """The same machine in the other address family (IPv4-mapped, loopback)."""
    HOST_SCOPE = "HOST_SCOPE"
    """The same IPv6 address with another zone, or without one."""
    HOST_BLANK = "HOST_BLANK"
    """The same host, except for blanks around it."""
    PRINCIPAL_CASE = "PRINCIPAL_CASE"
    PRINCIPAL_BLANK = "PRINCIPAL_BLANK"
    PRINCIPAL_TYPE = "PRINCIPAL_TYPE"
    """The same name with another type, or without one."""
    PRINCIPAL_DN = "PRINCIPAL_DN"
    """The same distinguished name with another order or spacing."""
    PRINCIPAL_SHORT_NAME = "PRINCIPAL_SHORT_NAME"
    """One is the common name, or the Kerberos primary, of the other."""
    PRINCIPAL_STAR = "PRINCIPAL_STAR"
    """A ``*`` in a principal is a plain character, unless the whole principal is ``User:*``."""
    NAME_CASE = "NAME_CASE"
    NAME_BLANK = "NAME_BLANK"
    LITERAL_STAR = "LITERAL_STAR"
    """LITERAL ``foo*`` is the name ``foo*``; PREFIXED ``foo`` was meant."""
    LITERAL_PREFIX = "LITERAL_PREFIX"
    """LITERAL, where PREFIXED was meant: the ACL's name is a prefix of the resource's."""
    PREFIXED_STAR = "PREFIXED_STAR"
    """PREFIXED ``foo*`` matches only names that begin with ``foo*``, star included."""
    PREFIX_ONE_OFF = "PREFIX_ONE_OFF"
    """One character away from a prefix of the name."""
    WILDCARD_SKIPS_STAR = "WILDCARD_SKIPS_STAR"
    """LITERAL ``*`` does not match a longer name that itself begins with ``*``."""
    HOST_BLOCK_ONE_OFF = "HOST_BLOCK_ONE_OFF"
    """A CIDR block that lacks the address by one bit: the other half of the next larger block."""
    HOST_RANGE = "HOST_RANGE"
    """A range or pattern with the address, in a form that Kafka compares as plain text."""
    HOST_NAME = "HOST_NAME"
    """Not an address: a client's host is always an address, so it never matches."""
    PRINCIPAL_TYPO = "PRINCIPAL_TYPO"
    NAME_TYPO = "NAME_TYPO"
    OPERATION_NOT_IMPLIED = "OPERATION_NOT_IMPLIED"
    """A related operation, but the ACL's operation does not imply the question's."""
    OPERATION = "OPERATION"
    HOST = "HOST"
    NAME = "NAME"
    """Another name with the same beginning."""
    RESOURCE_TYPE = "RESOURCE_TYPE"
    PRINCIPAL = "PRINCIPAL"

    @property
    def rank(self) -> int:
        """0 for the most informative kind."""
        return _RANKS[self]


_RANKS = {kind: rank for rank, kind in enumerate(NearMissKind)}
