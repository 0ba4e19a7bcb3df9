"""The ACLs that reach one resource, arranged for sessions that ask about it seldom.

Most clients are none of those whom the ACLs name: what they may do is worked out once, for all of
them. This module must not know what is remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from sys import getsizeof
from typing import Final

from authorizer.engine.buckets import Bucket, FewAcls, masks_of
from authorizer.engine.decide import ALL_OPERATIONS, Masks, Subject
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl

_BYTES: Final = 400
"""About what one takes that no ACL reaches, with its place by name, as CPython 3.11 lays it out."""
EVERYBODY: Final = Subject((WILDCARD_PRINCIPAL,), (WILDCARD,))
_PRINCIPAL: Final = attrgetter("principal")


class NameReach:
    """What the ACLs of ``buckets``, all that reach a name, allow and deny a session.

    ``principals`` are those who may have other masks than ``everybody``; they are None where all
    may, or where there are many.
    """

    __slots__ = ("_acls", "_many", "everybody", "principals")

    def __init__(self, buckets: Sequence[Bucket], *, is_default_allow: bool) -> None:
        few = [bucket for bucket in buckets if type(bucket) is FewAcls]
        many = [bucket for bucket in buckets if type(bucket) is not FewAcls]
        acls = list(chain.from_iterable(few))
        principals = frozenset(map(_PRINCIPAL, acls))
        allowed = ALL_OPERATIONS if is_default_allow and not buckets else 0
        denied = 0
        if WILDCARD_PRINCIPAL in principals:
            general = [acl for acl in acls if _is_for_everybody(acl)]
            allowed, denied = masks_of(general, EVERYBODY)
            acls = [acl for acl in acls if not _is_for_everybody(acl)]
            principals = frozenset(map(_PRINCIPAL, acls))
        self.everybody = allowed, denied
        self.principals = None if many or WILDCARD_PRINCIPAL in principals else principals
        self._acls = acls
        self._many = many

    @property
    def size(self) -> int:
        """About how many bytes it takes, beside the ACLs."""
        return _BYTES + getsizeof(self._acls) + getsizeof(self.principals)

    def masks(self, who: Subject) -> Masks:
        """The operations that are allowed ``who``, and those that are denied, a bit each."""
        allowed, denied = self.everybody
        more_allowed, more_denied = masks_of(self._acls, who)
        allowed |= more_allowed
        denied |= more_denied
        for bucket in self._many:
            more_allowed, more_denied = bucket.masks(who)
            allowed |= more_allowed
            denied |= more_denied
        return allowed, denied


def _is_for_everybody(acl: Acl) -> bool:
    return acl.principal == WILDCARD_PRINCIPAL and acl.host == WILDCARD
