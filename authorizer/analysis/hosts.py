"""Hosts as Kafka compares them: whole strings, in the text that Java gives an address.

Says in what an ACL's host differs from the client's, and, for a question without a
host, which hosts that ACLs name would be answered otherwise.
It must not know names or principals.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple

from authorizer.analysis.kinds import NearMissKind
from authorizer.trace import Attribute, Candidate, Trace, is_allow
from metalog.acl import WILDCARD, Acl
from metalog.client_host import java_text

IPAddress = IPv4Address | IPv6Address


class HostAnswer(NamedTuple):
    """``host`` would be answered ``allowed`` because of ``acl``, unlike other hosts."""

    host: str
    allowed: bool
    acl: Acl


def can_be_a_client(host: str) -> bool:
    """Whether a client's host can ever equal ``host``."""
    return java_text(host) == host


def host_kind(other: str, asked: str | None) -> NearMissKind | None:
    """How ``other``, an ACL's host, differs from ``asked``; they are not equal.

    Without a host asked for, None for a host that a client can have: that one is no
    near miss, but a host that may be answered otherwise.
    """
    if asked is None:
        return _never_kind(other)
    if other.strip() == asked.strip():
        return NearMissKind.HOST_BLANK
    ours, theirs = _address(other), _address(asked)
    if theirs is None:
        return NearMissKind.HOST
    if ours is None:
        return _text_kind(other, theirs)
    return _address_kind(ours, theirs)


def changing_hosts(traced: Trace) -> tuple[HostAnswer, ...]:
    """The named hosts for which a question asked without a host is answered otherwise."""
    named: dict[str, list[Acl]] = {}
    for acl in _kept_off_by_host_alone(traced.candidates):
        named.setdefault(acl.host, []).append(acl)
    if traced.decision.acl is not None and not traced.allowed:
        return ()
    answers = []
    for host, acls in named.items():
        denies = [acl for acl in acls if not is_allow(acl)]
        if traced.allowed and denies:
            answers.append(HostAnswer(host, False, denies[0]))
        elif not traced.allowed and not denies:
            answers.append(HostAnswer(host, True, acls[-1]))
    return tuple(answer for answer in answers if can_be_a_client(answer.host))


def _kept_off_by_host_alone(candidates: Iterable[Candidate]) -> Iterable[Acl]:
    return (each.acl for each in candidates if each.mismatches == (Attribute.HOST,))


def _address(host: str) -> IPAddress | None:
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    try:
        return ip_address(host)
    except ValueError:
        return None


def _unmapped(address: IPAddress) -> IPAddress:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _address_kind(ours: IPAddress, theirs: IPAddress) -> NearMissKind:
    if ours == theirs:
        return NearMissKind.HOST_TEXT
    if ours.packed == theirs.packed:
        return NearMissKind.HOST_SCOPE
    ours, theirs = _unmapped(ours), _unmapped(theirs)
    if ours == theirs or (
        ours.is_loopback and theirs.is_loopback and ours.version != theirs.version
    ):
        return NearMissKind.HOST_FAMILY
    return NearMissKind.HOST


def _text_kind(other: str, asked: IPAddress) -> NearMissKind:
    if _network_holds(other, asked) or (
        WILDCARD in other and fnmatchcase(str(_unmapped(asked)), other)
    ):
        return NearMissKind.HOST_RANGE
    if _never_kind(other) is NearMissKind.HOST_NAME:
        return NearMissKind.HOST_NAME
    return NearMissKind.HOST


def _network_holds(network: str, address: IPAddress) -> bool:
    if "/" not in network:
        return False
    try:
        return _unmapped(address) in ip_network(network.strip(), strict=False)
    except ValueError:
        return False


def _never_kind(host: str) -> NearMissKind | None:
    """Why no client ever comes from ``host``; None if one may."""
    if can_be_a_client(host):
        return None
    if can_be_a_client(host.strip()):
        return NearMissKind.HOST_BLANK
    if java_text(host) is not None:
        return NearMissKind.HOST_TEXT
    if "/" in host or WILDCARD in host or not any(map(str.isalpha, host)):
        return NearMissKind.HOST_RANGE
    return NearMissKind.HOST_NAME
