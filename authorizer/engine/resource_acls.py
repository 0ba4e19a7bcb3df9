"""The combined ACLs of one resource, for sessions with few requests.

The ACLs name few of the clients, so the result for all other clients is computed once, and cached
if the resource is requested again. This module must not know what is cached.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from operator import attrgetter
from sys import getsizeof
from typing import Final

from authorizer.engine.buckets import Bucket, ManyAcls, masks_of
from authorizer.engine.decide import ALL_OPERATIONS, Masks, SubjectParts
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl

_BYTES: Final = 400
"""About the bytes of an empty ``ResourceAcls`` and of its entry in the map, in CPython 3.11."""
_SEARCHED_AS_TUPLE: Final = 4
"""The most principals in a tuple: for so few, it is faster to make and to search than a set."""
EVERYBODY: Final[SubjectParts] = ((WILDCARD_PRINCIPAL,), (WILDCARD,), None)
_PRINCIPAL: Final = attrgetter("principal")


class ResourceAcls:
    """The operations that ``buckets``, all ACLs for one name, allow and deny a session.

    ``principals`` are those whose masks may differ from ``everybody``'s; None if all may differ, or
    if they are many. ``allowed`` are the operations that all others may carry out.
    """

    __slots__ = ("_acls", "_many", "allowed", "everybody", "principals")

    def __init__(self, buckets: Sequence[Bucket], *, is_default_allow: bool) -> None:
        many = [bucket for bucket in buckets if type(bucket) is ManyAcls]
        few = [bucket.acls() for bucket in buckets if type(bucket) is not ManyAcls]
        acls = list(chain.from_iterable(few))
        principals = _principals(acls)
        allowed = ALL_OPERATIONS if is_default_allow and not buckets else 0
        denied = 0
        if WILDCARD_PRINCIPAL in principals:
            general = [acl for acl in acls if _is_for_everybody(acl)]
            allowed, denied = masks_of(general, EVERYBODY)
            acls = [acl for acl in acls if not _is_for_everybody(acl)]
            principals = _principals(acls)
        self.everybody = allowed, denied
        self.allowed = allowed & ~denied
        self.principals = None if many or WILDCARD_PRINCIPAL in principals else principals
        self._acls = acls
        self._many = many

    @property
    def size(self) -> int:
        """About the bytes that it takes, without the ACLs."""
        return _BYTES + getsizeof(self._acls) + getsizeof(self.principals)

    def masks(self, who: SubjectParts) -> Masks:
        """The operations, as bits, that the ACLs allow ``who``, and those that they deny."""
        allowed, denied = self.everybody
        more_allowed, more_denied = masks_of(self._acls, who)
        allowed |= more_allowed
        denied |= more_denied
        for bucket in self._many:
            more_allowed, more_denied = bucket.masks(who)
            allowed |= more_allowed
            denied |= more_denied
        return allowed, denied


def _principals(acls: Sequence[Acl]) -> Collection[str]:
    return (tuple if len(acls) <= _SEARCHED_AS_TUPLE else frozenset)(map(_PRINCIPAL, acls))


def _is_for_everybody(acl: Acl) -> bool:
    return acl.principal == WILDCARD_PRINCIPAL and acl.host == WILDCARD
