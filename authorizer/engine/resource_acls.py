"""Combines the ACLs of one resource, for sessions with few requests.

ACLs name few of the clients, and all other clients share one result. This module must not know what
is cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getsizeof
from typing import Final

from authorizer.engine.buckets import Bucket, ManyAcls, masks_of
from authorizer.engine.decide import ALL_OPERATIONS, Masks, SubjectParts, verdicts_of
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl

_BYTES: Final = 400
"""The approximate size in bytes of an empty ``ResourceAcls`` and its entry in a dict."""
EVERYBODY: Final[SubjectParts] = ((WILDCARD_PRINCIPAL,), (WILDCARD,), None)


class ResourceAcls:
    """The operations that the ACLs for one name together allow and deny to a session.

    ``everybody`` has the masks of the ACLs of ``User:*`` from every host, except ACLs in
    ``ManyAcls``; without any ACL for the name, the masks of the default rule. ``others`` has the
    decisions by these masks alone. ``principals`` has the principals whose decisions can differ
    from ``others``; None stands for all.
    """

    __slots__ = ("_acls", "_many", "everybody", "others", "principals")

    def __init__(self, buckets: Sequence[Bucket], *, is_default_allow: bool) -> None:
        acls: list[Acl] = []
        many: list[Bucket] = []
        for bucket in buckets:
            if type(bucket) is ManyAcls:
                many.append(bucket)
            else:
                acls.extend(bucket.acls())
        allowed = ALL_OPERATIONS if is_default_allow and not buckets else 0
        denied = 0
        principals = [acl.principal for acl in acls]
        if WILDCARD_PRINCIPAL in principals:
            allowed, denied = masks_of(acls, EVERYBODY)
            acls = [
                acl for acl in acls if acl.principal != WILDCARD_PRINCIPAL or acl.host != WILDCARD
            ]
            principals = [acl.principal for acl in acls]
        self.everybody = allowed, denied
        self.others = verdicts_of(allowed & ~denied)
        self.principals: frozenset[str] | None = None
        if not many and WILDCARD_PRINCIPAL not in principals:
            self.principals = frozenset(principals)
        self._acls = acls
        self._many = many

    @property
    def size(self) -> int:
        """The approximate size in bytes, without the ACLs."""
        return _BYTES + getsizeof(self._acls) + getsizeof(self.principals)

    def masks(self, who: SubjectParts) -> Masks:
        allowed, denied = self.everybody
        more_allowed, more_denied = masks_of(self._acls, who)
        allowed |= more_allowed
        denied |= more_denied
        for bucket in self._many:
            more_allowed, more_denied = bucket.masks(who)
            allowed |= more_allowed
            denied |= more_denied
        return allowed, denied
