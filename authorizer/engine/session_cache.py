"""Remembers what one session may do, by resource type and name.

A session's answers hold as long as no ACL comes or goes that means it. What it has not been asked
yet it works out from the index that it began with, which gives the same answers meanwhile.
Threads may remember at once: at worst they work out the same thing twice.

This module must not know requests, nor how long a session is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from sys import getsizeof
from typing import Final, NamedTuple

from authorizer.engine.buckets import Bucket
from authorizer.engine.decide import (
    ALL_OPERATIONS,
    ALLOWED,
    ALLOWED_TO_SUPER_USER,
    DENIED,
    AuthorizationResult,
    Decision,
    Masks,
    Subject,
    concerns,
    subject,
)
from authorizer.engine.index import PATTERN_TYPES, AclIndex
from authorizer.engine.prefixes import Prefix, combined
from authorizer.engine.remembered import ENTRY_BYTES, Identity, RememberedSessions
from authorizer.kafka_version import KafkaVersion
from metalog.acl import WILDCARD, Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidRequest

SESSION_BYTES: Final = 750
TYPE_BYTES: Final = 750
"""About what a session takes beside its texts, and what it takes for each resource type, as CPython
3.11 lays them out."""
LONGEST_REMEMBERED: Final = 255
"""A name longer than any topic's is worked out each time: what is remembered stays small."""
PREFIX_LENGTHS: tuple[int, ...] = (32, 16, 8, 4, 0)
"""So many characters of a name are tried as a prefix that no ACL has, from long to short."""
NAMES_BEFORE_PREFIXES = 512
"""So many names without a pattern of their own are cached by name, which is faster, before prefixes
are tried."""
_MOST_KEPT: Final = 1 << 12
"""A change forgets all names of a resource type of which more are remembered: to look them
through would take longer than to work them out."""

_RESOURCE_TYPES: Final = len(ResourceType)

Verdicts = tuple[AuthorizationResult, ...]


class SessionCache:
    """What one session may do on resources of one type.

    ``verdicts``, by name, are the results by operation, where they are known; ``on`` gives
    those of any name. A negative prefix is one that no pattern's name begins with: the same
    patterns match all names with that prefix, so one entry serves them all.
    """

    __slots__ = (
        "_allow_everyone",
        "_beginnings",
        "_by_type",
        "_index",
        "_is_super_user",
        "_literal_names",
        "_literals",
        "_names_left",
        "_negative_prefixes",
        "_prefix_masks",
        "_prefixed",
        "_remembered",
        "_resource_type",
        "_who",
        "_wildcard_masks",
        "verdicts",
    )

    def __init__(
        self,
        basis: SessionBasis,
        resource_type: ResourceType,
        who: Subject,
        is_super_user: bool,
        verdicts: dict[str, Verdicts],
    ) -> None:
        self.verdicts = verdicts
        self._index = basis.acls
        self._allow_everyone = basis.allow_everyone
        self._remembered = basis.remembered
        self._who = who
        self._is_super_user = is_super_user
        self._resource_type = resource_type
        literals = self._index.literals(resource_type)
        self._literals = literals.buckets
        self._literal_names = literals.names
        self._prefixed = self._index.prefixed(resource_type)
        wildcard = self._literals.get(WILDCARD)
        self._wildcard_masks = None if wildcard is None else wildcard.masks(who)
        self._prefix_masks: dict[Prefix | None, Masks] = {None: (0, 0)}
        self._by_type: dict[Operation, bool] = {}
        self._negative_prefixes: dict[str, Verdicts] = {}
        self._beginnings: list[slice] = []
        self._names_left = NAMES_BEFORE_PREFIXES

    def on(self, name: str) -> Verdicts:
        for beginning in self._beginnings:
            verdicts = self._negative_prefixes.get(name[beginning])
            if verdicts is not None:
                return verdicts
        if self._is_super_user:
            return self._cache_prefix("", verdicts_of(ALL_OPERATIONS))
        literal = self._literals.get(name)
        allowed, denied = self._masks_on(name, literal)
        allowed &= ~denied
        verdicts = VERDICTS.get(allowed) or verdicts_of(allowed)
        if literal is None:
            if self._names_left:
                self._names_left -= 1
            else:
                prefix = self._negative_prefix(name)
                if prefix is not None:
                    return self._cache_prefix(prefix, verdicts)
        if len(name) <= LONGEST_REMEMBERED:
            self._remembered.count(1, ENTRY_BYTES + getsizeof(name))
            self.verdicts[name] = verdicts
        return verdicts

    def _cache_prefix(self, prefix: str, verdicts: Verdicts) -> Verdicts:
        self._remembered.count(1, ENTRY_BYTES + getsizeof(prefix))
        self._negative_prefixes[prefix] = verdicts
        beginning = slice(len(prefix))
        if beginning not in self._beginnings:
            listed = [*self._beginnings, beginning]
            self._beginnings = sorted(listed, key=attrgetter("stop"), reverse=True)
        return verdicts

    def _negative_prefix(self, name: str) -> str | None:
        """The shortest beginning of ``name``, of those tried, that no pattern's name begins
        with: the same patterns reach all names that begin so."""
        literals, prefixed = self._literal_names, self._prefixed.names
        shortest = None
        for length in PREFIX_LENGTHS:
            if length <= len(name):
                prefix = name[:length]
                if literals.any_begins_with(prefix) or prefixed.any_begins_with(prefix):
                    break
                shortest = prefix
        return shortest

    def allowed_on(self, name: str) -> int:
        """The operations that are allowed on ``name``, a bit each; nothing is remembered."""
        if self._is_super_user:
            return ALL_OPERATIONS
        allowed, denied = self._masks_on(name, self._literals.get(name))
        return allowed & ~denied

    def masks_on(self, name: str) -> Masks:
        """What the ACLs and the default rule allow and deny on ``name``, to no super user; nothing
        is remembered."""
        return self._masks_on(name, self._literals.get(name))

    def decide(self, operation: Operation, name: str) -> Decision:
        """The result with its rule."""
        if self._is_super_user:
            return ALLOWED_TO_SUPER_USER
        return self._index.decide(
            self._who, operation, self._resource_type, name, allow_everyone=self._allow_everyone
        )

    def is_allowed_on_some(self, operation: Operation, index: AclIndex | None = None) -> bool:
        """As of ``SessionAnswers``. ``index`` is the newest that means the same to the session: it
        has the grants, of which an older one would have to make its own."""
        known = self._by_type.get(operation)
        if known is None:
            known = self._by_type[operation] = self._may_on_some(operation, index or self._index)
        return known

    def _masks_on(self, name: str, literal: Bucket | None) -> Masks:
        prefix = self._prefixed.names.longest_prefix(name)
        allowed, denied = self._prefix_masks.get(prefix) or self._masks_up_from(prefix)
        if literal is not None:
            more_allowed, more_denied = literal.masks(self._who)
            allowed |= more_allowed
            denied |= more_denied
        wildcard = self._wildcard_masks
        if wildcard is not None and not name.startswith(WILDCARD):
            allowed |= wildcard[0]
            denied |= wildcard[1]
        elif literal is None and prefix is None and self._allow_everyone:
            return ALL_OPERATIONS, 0
        return allowed, denied

    def _masks_up_from(self, prefix: Prefix | None) -> Masks:
        """What ``prefix`` and all shorter ones allow and deny this session together."""
        known = self._prefix_masks
        unknown: list[Prefix] = []
        while prefix is not None and prefix not in known:
            unknown.append(prefix)
            prefix = prefix.shorter
        self._remembered.count(len(unknown), len(unknown) * ENTRY_BYTES)
        allowed, denied = known[prefix]
        for each in reversed(unknown):
            more_allowed, more_denied = self._prefixed.buckets[each.name].masks(self._who)
            allowed |= more_allowed
            denied |= more_denied
            known[each] = allowed, denied
        return allowed, denied

    def _may_on_some(self, operation: Operation, index: AclIndex) -> bool:
        wildcard = self._literals.get(WILDCARD)
        if wildcard is not None and self._denies_by_type(wildcard, operation):
            return False
        prefix_denies: dict[Prefix | None, bool] = {None: False}
        allowing = index.allowing(self._who, operation, self._resource_type)
        for pattern_type, name in allowing:
            is_literal = pattern_type is PatternType.LITERAL
            if is_literal and name == WILDCARD:
                return True
            if is_literal and self._denies_by_type(self._literals[name], operation):
                continue
            longest = self._prefixed.names.longest_prefix(name)
            if not self._prefixes_deny(longest, operation, prefix_denies):
                return True
        return False

    def _prefixes_deny(
        self, longest: Prefix | None, operation: Operation, known: dict[Prefix | None, bool]
    ) -> bool:
        """Whether ``longest`` or a shorter prefix denies; ``known`` spares each a second look."""
        buckets = self._prefixed.buckets
        return combined(
            longest,
            known,
            lambda denied, prefix: denied or self._denies_by_type(buckets[prefix.name], operation),
        )

    def _denies_by_type(self, bucket: Bucket, operation: Operation) -> bool:
        """Unlike a decision on one name, Kafka skips permissions and patterns that it does not
        know here."""
        return any(
            acl.permission_type is PermissionType.DENY
            and acl.pattern_type in PATTERN_TYPES
            and concerns(acl, operation)
            and self._who.matches(acl)
            for acl in bucket.of(self._who)
        )


class SessionBasis(NamedTuple):
    """What the answers of all sessions rest on at one moment."""

    acls: AclIndex
    allow_everyone: bool
    kafka: KafkaVersion
    remembered: RememberedSessions[SessionAnswers]


class SessionAnswers:
    """What one session may do: ``verdicts``, by resource type and name, where they are known.

    They are known to hold after change ``number`` of the ACLs, which led to ``index``.
    """

    __slots__ = ("_basis", "_caches", "_identity", "index", "is_super_user", "number", "verdicts")

    def __init__(
        self, basis: SessionBasis, identity: Identity, number: int, *, is_super_user: bool
    ) -> None:
        self._basis = basis
        self._identity = identity
        self._caches: dict[ResourceType, SessionCache] = {}
        self.is_super_user = is_super_user
        self.number = number
        self.index = basis.acls
        self.verdicts: list[dict[str, Verdicts]] = [NO_VERDICTS] * _RESOURCE_TYPES

    def on(self, resource_type: ResourceType, name: str) -> Verdicts:
        return self.of_type(resource_type).on(name)

    def of_type(self, resource_type: ResourceType) -> SessionCache:
        cache = self._caches.get(resource_type)
        if cache is None:
            refuse_any(resource_type)
            basis = self._basis
            who = basis.acls.with_blocks(subject(*self._identity, kafka=basis.kafka))
            verdicts = self._names_of(resource_type)
            cache = SessionCache(basis, resource_type, who, self.is_super_user, verdicts)
            basis.remembered.count(1, TYPE_BYTES + getsizeof(who.hosts))
            self._caches[resource_type] = cache
        return cache

    def remember(self, resource_type: ResourceType, name: str, verdicts: Verdicts) -> None:
        """Somebody else has found ``verdicts``, of ACLs of which none that means the session came
        or went since ``number``."""
        if len(name) <= LONGEST_REMEMBERED:
            self._basis.remembered.count(1, ENTRY_BYTES + getsizeof(name))
            self._names_of(resource_type)[name] = verdicts

    def is_allowed_on_some(self, operation: Operation, resource_type: ResourceType) -> bool:
        """Whether an ALLOW of ``operation`` exists that no DENY dominates (KIP-679)."""
        return self.of_type(resource_type).is_allowed_on_some(operation, self.index)

    def still_holds(self, index: AclIndex, number: int) -> None:
        """Nothing that means the session changed up to ``number``."""
        self.index = index
        self.number = number

    def after(self, acls: Iterable[Acl], basis: SessionBasis, number: int) -> SessionAnswers:
        """The session after ``acls`` came or went: what they do not concern is as it was.

        A thread that asked before them may remember its answer after them, so no names of a
        changed type are shared, not even while there are none.
        """
        after = SessionAnswers(basis, self._identity, number, is_super_user=self.is_super_user)
        changed: dict[int, list[Acl]] = {}
        for acl in acls:
            changed.setdefault(acl.resource_type, []).append(acl)
        after.verdicts = [
            without_matched(known, changed[kind])
            if kind in changed and known is not NO_VERDICTS
            else known
            for kind, known in enumerate(self.verdicts)
        ]
        after._caches = {
            kind: cache for kind, cache in self._caches.copy().items() if kind not in changed
        }
        return after

    def _names_of(self, resource_type: ResourceType) -> dict[str, Verdicts]:
        names = self.verdicts[resource_type]
        if names is NO_VERDICTS:
            names = self.verdicts[resource_type] = {}
        return names


def without_matched(verdicts: dict[str, Verdicts], acls: Iterable[Acl]) -> dict[str, Verdicts]:
    """Those on names that none of ``acls`` reaches, if there are not very many."""
    kept = verdicts.copy() if len(verdicts) <= _MOST_KEPT else {}
    for acl in acls:
        reached = acl.resource_name
        if acl.pattern_type is not PatternType.LITERAL:
            kept = {name: kept[name] for name in kept if not name.startswith(reached)}
        elif reached == WILDCARD:
            return {}
        else:
            kept.pop(reached, None)
    return kept


def refuse_any(resource_type: ResourceType) -> None:
    if resource_type is ResourceType.ANY:
        raise InvalidRequest("a resource has one type: name it, ANY is for filters only")


def bytes_of(identity: Identity) -> int:
    """About how many bytes a session takes that remembers nothing yet."""
    return SESSION_BYTES + sum(map(getsizeof, identity))


NO_VERDICTS: Final[dict[str, Verdicts]] = {}
"""Stands for each type about which nothing was asked yet; stays empty."""
VERDICTS: Final[dict[int, Verdicts]] = {}
"""By mask: the results by operation, of which equal ones are one tuple."""


def verdicts_of(allowed: int) -> Verdicts:
    verdicts = VERDICTS.get(allowed)
    if verdicts is None:
        listed = [ALLOWED if allowed >> operation & 1 else DENIED for operation in Operation]
        verdicts = VERDICTS[allowed] = tuple(listed)
    return verdicts
