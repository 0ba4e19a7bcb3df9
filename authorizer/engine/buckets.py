"""The ACLs of one resource pattern (a bucket), and the operations that they allow and deny.

A bucket with few ACLs is a tuple, which is scanned. A bucket with many is a map by principal and
host: a session finds its own ACLs, and a change copies only their entry. Both are immutable; the
order for a listing is computed at the first listing.

This module must not know which names a pattern matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from authorizer.engine.decide import ALLOW, ALLOWS, DENIES, Masks, Subject, sorted_in_pattern
from metalog.acl import Acl
from metalog.image.table import Table

FEW: Final = 32


class FewAcls:
    """A bucket with at most ``FEW`` ACLs when it is created."""

    __slots__ = ("_acls", "_is_sorted")

    def __init__(self, acls: tuple[Acl, ...]) -> None:
        self._acls = acls
        self._is_sorted = len(acls) == 1

    def __len__(self) -> int:
        return len(self._acls)

    def __iter__(self) -> Iterator[Acl]:
        return iter(self._acls)

    def __contains__(self, acl: object) -> bool:
        return acl in self._acls

    def of(self, who: Subject) -> tuple[Acl, ...]:
        """The ACLs that match ``who``, and possibly others."""
        return self._acls

    def masks(self, who: Subject) -> Masks:
        """The operations that are allowed ``who``, and those that are denied, a bit each."""
        return masks_of(self._acls, who)

    def in_order(self) -> tuple[Acl, ...]:
        if not self._is_sorted:
            self._acls = sorted_in_pattern(self._acls)
            self._is_sorted = True
        return self._acls

    def adding(self, acl: Acl) -> Bucket:
        return bucket_of([*self._acls, acl])

    def removing(self, acl: Acl) -> Bucket | None:
        acls = self._acls  # taken once: a listing may put it in order meanwhile
        at = acls.index(acl)
        rest = acls[:at] + acls[at + 1 :]
        return FewAcls(rest) if rest else None

    def _check(self) -> None:
        """Walks the invariants; for tests."""
        if not 1 <= len(set(self._acls)) == len(self._acls) <= FEW:
            raise AssertionError("an invariant of a small bucket is broken")


class ManyAcls:
    """A bucket with any number of ACLs, by principal and host."""

    __slots__ = ("_by_who", "_sorted")

    def __init__(self, by_who: Table[tuple[str, str], tuple[Acl, ...]]) -> None:
        self._by_who = by_who
        self._sorted: tuple[Acl, ...] | None = None

    def __len__(self) -> int:
        return sum(map(len, self._by_who.values()))

    def __iter__(self) -> Iterator[Acl]:
        return chain.from_iterable(self._by_who.values())

    def __contains__(self, acl: object) -> bool:
        return isinstance(acl, Acl) and acl in self._by_who.get((acl.principal, acl.host), ())

    def of(self, who: Subject) -> tuple[Acl, ...]:
        """The ACLs that match ``who``."""
        if self._is_looked_through(who):
            return tuple([acl for acl in self if who.matches(acl)])
        return tuple(chain.from_iterable(self._found(who)))

    def masks(self, who: Subject) -> Masks:
        """The operations that are allowed ``who``, and those that are denied, a bit each."""
        if self._is_looked_through(who):
            return masks_of(self, who)
        allowed = denied = 0
        for acls in self._found(who):
            for acl in acls:
                if acl.permission_type is ALLOW:
                    allowed |= ALLOWS[acl.operation]
                else:
                    denied |= DENIES[acl.operation]
        return allowed, denied

    def _is_looked_through(self, who: Subject) -> bool:
        """Whether a scan of all ACLs, which blocks need, costs less than look-ups of ``who``."""
        looked_up = len(who.hosts) * len(who.principals)
        return who.address is not None or looked_up > len(self._by_who)

    def _found(self, who: Subject) -> Iterator[tuple[Acl, ...]]:
        by_who = self._by_who
        for principal in who.principals:
            for host in who.hosts:
                acls = by_who.get((principal, host))
                if acls is not None:
                    yield acls

    def in_order(self) -> tuple[Acl, ...]:
        if self._sorted is None:
            self._sorted = sorted_in_pattern(self)
        return self._sorted

    def adding(self, acl: Acl) -> Bucket:
        key = (acl.principal, acl.host)
        return ManyAcls(self._by_who.changed({key: (*self._by_who.get(key, ()), acl)}))

    def removing(self, acl: Acl) -> Bucket | None:
        key = (acl.principal, acl.host)
        rest = tuple([other for other in self._by_who[key] if other != acl])
        by_who = self._by_who.changed({key: rest or None})
        return ManyAcls(by_who) if len(by_who) else None

    def _check(self) -> None:
        """Walks the invariants; for tests."""
        for (principal, host), acls in self._by_who.items():
            is_consistent = all((acl.principal, acl.host) == (principal, host) for acl in acls)
            if not (acls and is_consistent and len(set(acls)) == len(acls)):
                raise AssertionError("an invariant of a large bucket is broken")


Bucket = FewAcls | ManyAcls


def bucket_of(acls: list[Acl]) -> Bucket:
    """A bucket of ``acls``, which are not empty and have no duplicates."""
    if len(acls) <= FEW:
        return FewAcls(tuple(acls))
    by_who: dict[tuple[str, str], list[Acl]] = {}
    for acl in acls:
        by_who.setdefault((acl.principal, acl.host), []).append(acl)
    return ManyAcls(Table((key, tuple(found)) for key, found in by_who.items()))


def masks_of(acls: Iterable[Acl], who: Subject) -> Masks:
    """The operations, as bits, that ``acls`` allow ``who``, and those that they deny."""
    principals, hosts, address = who
    allowed = denied = 0
    for acl in acls:
        if acl.principal in principals and (
            acl.host in hosts or (address is not None and who.comes_from(acl.host))
        ):
            if acl.permission_type is ALLOW:
                allowed |= ALLOWS[acl.operation]
            else:
                denied |= DENIES[acl.operation]
    return allowed, denied
