"""The ACLs of one resource pattern (a bucket), and the operations that they allow and deny.

All buckets are immutable. Their form depends on the number of ACLs:

- up to ``FEW_LIMIT``: a tuple.
- up to ``SOME_LIMIT``: a dict by principal, so that a decision reads few ACLs.
- more: a ``Table`` by principal and host, of which a change copies only a part. A ``Table`` that
  shrinks stays a ``Table``.

This module must not know which names a pattern matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from authorizer.engine.decide import (
    ALLOW,
    ALLOWS,
    DENIES,
    Masks,
    Subject,
    SubjectParts,
    is_block_with,
    sorted_in_pattern,
)
from metalog.acl import Acl
from metalog.image.table import Table

FEW_LIMIT: Final = 4
"""With so few ACLs, a dict saves too little time for its memory."""
SOME_LIMIT: Final = 32
"""The limit exists because each change copies the dict."""


def masks_of(acls: Iterable[Acl], who: SubjectParts) -> Masks:
    """The operations that ``acls`` allow and deny to ``who``."""
    principals, hosts, address = who
    allowed = denied = 0
    for acl in acls:
        if acl.principal in principals and (
            acl.host in hosts or (address is not None and is_block_with(acl.host, address))
        ):
            if acl.permission_type is ALLOW:
                allowed |= ALLOWS[acl.operation]
            else:
                denied |= DENIES[acl.operation]
    return allowed, denied


class FewAcls(tuple[Acl, ...]):
    __slots__ = ()

    @property
    def size(self) -> int:
        return len(self)

    def acls(self) -> Iterator[Acl]:
        return iter(self)

    def has(self, acl: Acl) -> bool:
        return acl in self

    def of(self, who: Subject) -> tuple[Acl, ...]:
        """The ACLs that match ``who``, and possibly other ACLs."""
        return self

    masks = masks_of

    def in_order(self) -> tuple[Acl, ...]:
        return self if len(self) == 1 else sorted_in_pattern(self)

    def adding(self, acl: Acl) -> Bucket:
        return bucket_of((*self, acl))

    def removing(self, acl: Acl) -> Bucket | None:
        at = self.index(acl)
        rest = self[:at] + self[at + 1 :]
        return FewAcls(rest) if rest else None

    def _check(self) -> None:
        if not 1 <= len(set(self)) == len(self) <= FEW_LIMIT:
            raise AssertionError("an invariant of a small bucket is broken")


class SomeAcls(dict[str, Acl | tuple[Acl, ...]]):
    """By principal: its only ACL, or a tuple of its ACLs.

    The class inherits from dict: a dict in an attribute would cost one more access to memory.
    """

    __slots__ = ("_sorted", "size")

    def __init__(self, by_principal: Mapping[str, Acl | tuple[Acl, ...]], size: int) -> None:
        dict.__init__(self, by_principal)
        self.size = size
        self._sorted: tuple[Acl, ...] | None = None

    def acls(self) -> Iterator[Acl]:
        if len(self) == self.size:
            return iter(self.values())  # type: ignore[arg-type]  # every value is one ACL
        return chain.from_iterable(map(_as_tuple, self.values()))

    def has(self, acl: Acl) -> bool:
        return acl in self._of(acl.principal)

    def of(self, who: Subject) -> tuple[Acl, ...]:
        """The ACLs of the principals of ``who``, for any host."""
        return tuple(chain.from_iterable(map(self._of, who.principals)))

    def masks(self, who: SubjectParts) -> Masks:
        hosts = who[1]
        allowed = denied = 0
        for principal in who[0]:
            found = self.get(principal)
            if found is None:
                continue
            if type(found) is Acl and found.host in hosts:  # the most common case, without a call
                if found.permission_type is ALLOW:
                    allowed |= ALLOWS[found.operation]
                else:
                    denied |= DENIES[found.operation]
            else:
                more_allowed, more_denied = masks_of(_as_tuple(found), who)
                allowed |= more_allowed
                denied |= more_denied
        return allowed, denied

    def in_order(self) -> tuple[Acl, ...]:
        if self._sorted is None:
            self._sorted = sorted_in_pattern(self.acls())
        return self._sorted

    def adding(self, acl: Acl) -> Bucket:
        if self.size >= SOME_LIMIT:
            return bucket_of([*self.acls(), acl])
        after = SomeAcls(self, self.size + 1)
        before = self._of(acl.principal)
        after[acl.principal] = (*before, acl) if before else acl
        return after

    def removing(self, acl: Acl) -> Bucket | None:
        if self.size - 1 <= FEW_LIMIT:
            return FewAcls([other for other in self.acls() if other != acl])
        principal = acl.principal
        after, before = SomeAcls(self, self.size - 1), self[principal]
        if isinstance(before, Acl):
            del after[principal]
        else:
            rest = tuple([other for other in before if other != acl])
            after[principal] = rest if len(rest) > 1 else rest[0]
        return after

    def _of(self, principal: str) -> tuple[Acl, ...]:
        found = self.get(principal)
        return () if found is None else _as_tuple(found)

    def _check(self) -> None:
        acls = list(chain.from_iterable(map(_as_tuple, self.values())))
        well_formed = FEW_LIMIT < len(set(acls)) == len(acls) == self.size <= SOME_LIMIT
        for principal, found in self.items():
            well_formed &= isinstance(found, Acl) or len(found) > 1
            well_formed &= all(acl.principal == principal for acl in _as_tuple(found))
        if not well_formed:
            raise AssertionError("an invariant of a bucket by principal is broken")


def _as_tuple(found: Acl | tuple[Acl, ...]) -> tuple[Acl, ...]:
    return (found,) if isinstance(found, Acl) else found


class ManyAcls:
    __slots__ = ("_by_who", "_sorted")

    def __init__(self, by_who: Table[tuple[str, str], tuple[Acl, ...]]) -> None:
        self._by_who = by_who
        self._sorted: tuple[Acl, ...] | None = None

    @property
    def size(self) -> int:
        return sum(map(len, self._by_who.values()))

    def acls(self) -> Iterator[Acl]:
        return chain.from_iterable(self._by_who.values())

    def has(self, acl: Acl) -> bool:
        return acl in self._by_who.get((acl.principal, acl.host), ())

    def of(self, who: Subject) -> tuple[Acl, ...]:
        if self._is_scanned(who):
            return tuple([acl for acl in self.acls() if who.matches(acl)])
        return tuple(chain.from_iterable(self._found(who)))

    def masks(self, who: SubjectParts) -> Masks:
        acls = self.acls() if self._is_scanned(who) else chain.from_iterable(self._found(who))
        return masks_of(acls, who)

    def _is_scanned(self, who: SubjectParts) -> bool:
        """CIDR blocks need a scan of all ACLs. Many look-ups would cost more than a scan."""
        principals, hosts, address = who
        return address is not None or len(hosts) * len(principals) > len(self._by_who)

    def _found(self, who: SubjectParts) -> Iterator[tuple[Acl, ...]]:
        by_who = self._by_who
        principals, hosts, _ = who
        for principal in principals:
            for host in hosts:
                acls = by_who.get((principal, host))
                if acls is not None:
                    yield acls

    def in_order(self) -> tuple[Acl, ...]:
        if self._sorted is None:
            self._sorted = sorted_in_pattern(self.acls())
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
        for (principal, host), acls in self._by_who.items():
            is_consistent = all((acl.principal, acl.host) == (principal, host) for acl in acls)
            if not (acls and is_consistent and len(set(acls)) == len(acls)):
                raise AssertionError("an invariant of a large bucket is broken")


Bucket = FewAcls | SomeAcls | ManyAcls


def bucket_of(acls: Sequence[Acl]) -> Bucket:
    """A bucket of ``acls``, a non-empty sequence without duplicates."""
    if len(acls) <= FEW_LIMIT:
        return FewAcls(acls)
    if len(acls) <= SOME_LIMIT:
        return bucket_if_principals_differ(acls) or SomeAcls(_by_principal(acls), len(acls))
    by_who: dict[tuple[str, str], list[Acl]] = {}
    for acl in acls:
        by_who.setdefault((acl.principal, acl.host), []).append(acl)
    return ManyAcls(Table((key, tuple(found)) for key, found in by_who.items()))


def bucket_if_principals_differ(acls: Sequence[Acl]) -> Bucket | None:
    """A ``SomeAcls`` if the number of ACLs fits and all principals differ; else None.

    A load calls this for each pattern. ``acl[3]`` is faster than ``acl.principal``.
    """
    if not FEW_LIMIT < len(acls) <= SOME_LIMIT:
        return None
    found: dict[str, Acl | tuple[Acl, ...]] = {acl[3]: acl for acl in acls}
    return SomeAcls(found, len(acls)) if len(found) == len(acls) else None


def _by_principal(acls: Iterable[Acl]) -> dict[str, Acl | tuple[Acl, ...]]:
    found: dict[str, Acl | tuple[Acl, ...]] = {}
    for acl in acls:
        before = found.get(acl.principal)
        found[acl.principal] = acl if before is None else (*_as_tuple(before), acl)
    return found
