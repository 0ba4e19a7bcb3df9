"""The ACLs, arranged so that those that reach a resource are found at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from authorizer import decide as deciding
from authorizer.decide import ALLOWED, DENIED, AuthorizationResult, Decision
from metalog.acl import (
    ANY_ACL,
    WILDCARD,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    java_order,
)
from metalog.ids import Uuid


def listing_order(acl: Acl) -> tuple[object, ...]:
    inverse = (*(-ord(unit) for unit in java_order(acl.resource_name)), 1)
    return (
        acl.resource_type,
        inverse,
        acl.pattern_type,
        acl.operation,
        java_order(acl.principal),
        java_order(acl.host),
        acl.permission_type,
    )


class AclIndex:
    """An immutable view of all ACLs, for any number of threads."""

    __slots__ = ("_acls",)

    def __init__(self, acls: Iterable[Acl] = ()) -> None:
        self._acls: dict[tuple[ResourceType, str], set[Acl]] = {}
        for acl in acls:
            self._acls.setdefault((acl.resource_type, acl.resource_name), set()).add(acl)

    def __iter__(self) -> Iterator[Acl]:
        for bucket in self._acls.values():
            yield from bucket

    def candidates(self, resource_type: ResourceType, name: str) -> list[Acl]:
        """The ACLs that reach a resource, in the order in which Kafka considers them."""
        found = [
            acl
            for end in range(len(name) + 1)
            for acl in self._acls.get((resource_type, name[:end]), ())
            if acl.pattern_type is not PatternType.LITERAL or end == len(name)
        ]
        if not name.startswith(WILDCARD):
            wildcards = self._acls.get((resource_type, WILDCARD), ())
            found += [acl for acl in wildcards if acl.pattern_type is PatternType.LITERAL]
        return sorted(found, key=lambda acl: deciding.decision_order(acl, name))

    def decide(
        self,
        principals: Collection[str],
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        *,
        allow_everyone: bool = False,
    ) -> Decision:
        candidates = self.candidates(resource_type, name)
        return deciding.decide(
            candidates, principals, host, operation, allow_everyone=allow_everyone
        )

    def decide_by_resource_type(
        self,
        principals: Collection[str],
        host: str,
        operation: Operation,
        resource_type: ResourceType,
    ) -> AuthorizationResult:
        """Whether some pattern allows ``operation`` and no DENY dominates it."""
        found = [
            acl
            for acl in self
            if acl.resource_type is resource_type
            and acl.operation in (Operation.ALL, operation)
            and deciding.admits(acl, principals, host)
        ]
        denied = {
            (acl.pattern_type, acl.resource_name)
            for acl in found
            if acl.permission_type is PermissionType.DENY
        }
        if (PatternType.LITERAL, WILDCARD) in denied:
            return DENIED
        for acl in found:
            name = acl.resource_name
            prefixes = {(PatternType.PREFIXED, name[: end + 1]) for end in range(len(name))}
            wildcard = name == WILDCARD and acl.pattern_type is PatternType.LITERAL
            dominated = (acl.pattern_type, name) in denied or not prefixes.isdisjoint(denied)
            if acl.permission_type is PermissionType.ALLOW and (wildcard or not dominated):
                return ALLOWED
        return DENIED

    def acls(self, acl_filter: AclFilter = ANY_ACL) -> list[Acl]:
        """The ACLs that ``acl_filter`` matches, in the order of Kafka's listing."""
        return sorted((acl for acl in self if acl_filter.matches(acl)), key=listing_order)


class IndexWriter:
    """The one writer of an index; ``index`` is what readers take, replaced by each change."""

    __slots__ = ("_extra_ids", "index")

    def __init__(self) -> None:
        self.index = AclIndex()
        self._extra_ids: dict[Acl, int] = {}

    def load(self, acls: Iterable[Acl]) -> None:
        """Replaces everything; an ACL comes once for each of its ids."""
        self._extra_ids = {}
        seen: set[Acl] = set()
        for acl in acls:
            if acl in seen:
                self._extra_ids[acl] = self._extra_ids.get(acl, 0) + 1
            seen.add(acl)
        self.index = AclIndex(seen)

    def apply(self, changes: Mapping[Uuid, Acl | None], before: Mapping[Uuid, Acl]) -> None:
        """Carries out ``changes``, by id, of the ACLs that were ``before``; None removes."""
        acls = set(self.index)
        for uuid, acl in changes.items():
            old = before.get(uuid)
            if old is not None:
                if old in self._extra_ids:
                    self._extra_ids[old] -= 1
                    if not self._extra_ids[old]:
                        del self._extra_ids[old]
                else:
                    acls.discard(old)
            if acl is not None:
                if acl in acls:
                    self._extra_ids[acl] = self._extra_ids.get(acl, 0) + 1
                acls.add(acl)
        self.index = AclIndex(acls)
