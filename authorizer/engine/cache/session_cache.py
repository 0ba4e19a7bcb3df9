"""Caches the decisions of one session by resource type and name.

After a change of other principals' ACLs, a session still decides by its old index.
Several threads may add to a cache: in the worst case they decide one request twice.

This module must not know requests, nor how long a session is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import getsizeof
from typing import Final, NamedTuple

from authorizer.engine.buckets import Bucket, masks_of
from authorizer.engine.by_resource_type import is_allowed_on_some
from authorizer.engine.cache.invalidation import without_matched
from authorizer.engine.cache.remembered import (
    CHARACTER_BYTES,
    ENTRY_BYTES,
    Identity,
    RememberedSessions,
)
from authorizer.engine.decide import (
    ALL_OPERATIONS,
    ALLOWED_TO_SUPER_USER,
    VERDICTS,
    Decision,
    Masks,
    Subject,
    Verdicts,
    subject,
    verdicts_of,
)
from authorizer.engine.index import AclIndex
from authorizer.engine.prefixes import Prefix
from authorizer.kafka_version import KafkaVersion
from metalog.acl import WILDCARD, Acl, Operation, ResourceType
from metalog.errors import InvalidRequest

SESSION_BYTES: Final = 750
"""The approximate size in bytes of a session in CPython 3.11, without its texts."""
TYPE_BYTES: Final = 750
"""The approximate size in bytes of each resource type in a session."""
LONGEST_CACHED: Final = 255
"""A cached name has at most this many characters; no topic's name has more."""
PREFIX_LENGTHS: tuple[int, ...] = (32, 16, 8, 4, 0)
"""A negative prefix (``SessionCache``) has one of these lengths in characters."""
NAMES_BEFORE_PREFIXES = 512
"""A ``SessionCache`` uses negative prefixes, which are slower, only after this many decisions on
names that match no pattern except ``*``."""

_RESOURCE_TYPES: Final = len(ResourceType)


class SessionCache:
    """The decisions of one session on resources of one type.

    ``verdicts`` has the cached results by name. Look there first: ``on`` does not.

    A negative prefix is a text with which no pattern's name begins. The same patterns match all
    names that begin with this text, so these names share one cache entry. ``beginnings`` has a
    slice for each length of the cached negative prefixes.
    """

    __slots__ = (
        "_allow_everyone",
        "_counted_prefixes",
        "_find",
        "_find_prefix",
        "_index",
        "_is_super_user",
        "_literals",
        "_longest_prefix",
        "_names_left",
        "_negative_prefixes",
        "_on_some",
        "_prefix_masks",
        "_prefixed",
        "_remembered",
        "_resource_type",
        "_who",
        "_wildcard_masks",
        "beginnings",
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
        self._literals = self._index.literals[resource_type]
        self._find = self._literals.find
        self._prefixed = self._index.prefixed[resource_type]
        self._find_prefix = self._prefixed.find
        self._longest_prefix = self._prefixed.names.finder
        wildcard = self._literals.wildcard
        self._wildcard_masks = None if wildcard is None else wildcard.masks(who)
        self._prefix_masks: dict[Prefix | None, Masks] = {None: (0, 0)}
        self._counted_prefixes = 1
        self._on_some: dict[Operation, bool] = {}
        self._negative_prefixes: dict[str, Verdicts] = {}
        self.beginnings: list[slice] = []
        self._names_left = NAMES_BEFORE_PREFIXES

    def on(self, name: str) -> Verdicts:
        for beginning in self.beginnings:
            verdicts = self._negative_prefixes.get(name[beginning])
            if verdicts is not None:
                return verdicts
        if self._is_super_user:
            return self._cache_prefix("", verdicts_of(ALL_OPERATIONS))
        literal, prefix = self._find(name), self._longest_prefix(name)
        allowed, denied = self._masks_on(name, literal, prefix)
        allowed &= ~denied
        verdicts = VERDICTS.get(allowed) or verdicts_of(allowed)
        if literal is None and prefix is None:
            if self._names_left > 0:
                self._names_left -= 1
            else:
                negative = self._negative_prefix(name)
                if negative is not None:
                    return self._cache_prefix(negative, verdicts)
        if len(name) <= LONGEST_CACHED:
            self._count(1, len(name))
            self.verdicts[name] = verdicts
        return verdicts

    def add_all(self, names: Iterable[str]) -> None:
        """Cache decisions on ``names``, but skip names that are long or need a negative prefix."""
        if self._is_super_user:
            return
        find, longest_prefix, masks_on = self._find, self._longest_prefix, self._masks_on
        verdicts, characters, before = self.verdicts, 0, len(self.verdicts)
        for name in names:
            if name in verdicts or len(name) > LONGEST_CACHED:
                continue
            literal, prefix = find(name), longest_prefix(name)
            if literal is None and prefix is None:
                if self._names_left <= 0:
                    continue
                self._names_left -= 1
            allowed, denied = masks_on(name, literal, prefix)
            allowed &= ~denied
            verdicts[name] = VERDICTS.get(allowed) or verdicts_of(allowed)
            characters += len(name)
        cached = len(verdicts) - before
        self._count(cached, characters)

    def _count(self, names: int, characters: int) -> None:
        """Also counts the prefixes whose masks were cached since the last call."""
        prefixes = len(self._prefix_masks) - self._counted_prefixes
        self._counted_prefixes += prefixes
        entries = names + prefixes
        self._remembered.count(entries, ENTRY_BYTES * entries + CHARACTER_BYTES * characters)

    def _cache_prefix(self, prefix: str, verdicts: Verdicts) -> Verdicts:
        self._count(1, len(prefix))
        self._negative_prefixes[prefix] = verdicts
        beginning = slice(len(prefix))
        if beginning not in self.beginnings:
            self.beginnings = [*self.beginnings, beginning]
        return verdicts

    def _negative_prefix(self, name: str) -> str | None:
        """The shortest negative prefix with which ``name`` begins."""
        literals, prefixed = self._literals.names, self._prefixed.names
        shortest = None
        for length in PREFIX_LENGTHS:
            if length <= len(name):
                prefix = name[:length]
                if literals.any_begins_with(prefix) or prefixed.any_begins_with(prefix):
                    break
                shortest = prefix
        return shortest

    def allowed_on(self, name: str) -> int:
        """The operations that are allowed on ``name``, as bits."""
        if self._is_super_user:
            return ALL_OPERATIONS
        allowed, denied = self.masks_on(name)
        return allowed & ~denied

    def allowed_on_all(self, names: Sequence[str]) -> list[int]:
        """As ``allowed_on``, for many names. Each step handles all names, so that memory accesses
        overlap."""
        if self._is_super_user:
            return [ALL_OPERATIONS] * len(names)
        literals = list(map(self._find, names))
        prefixes = list(map(self._longest_prefix, names))
        masks = map(self._masks_on, names, literals, prefixes)
        allowed_operations = [allowed & ~denied for allowed, denied in masks]
        self._count(0, 0)
        return allowed_operations

    def masks_on(self, name: str) -> Masks:
        """The operations that the ACLs and the default rule allow and deny on ``name``.

        Ignores super users."""
        masks = self._masks_on(name, self._find(name), self._longest_prefix(name))
        self._count(0, 0)
        return masks

    def decide(self, operation: Operation, name: str) -> Decision:
        if self._is_super_user:
            return ALLOWED_TO_SUPER_USER
        return self._index.decide(
            self._who, operation, self._resource_type, name, allow_everyone=self._allow_everyone
        )

    def is_allowed_on_some(self, operation: Operation, index: AclIndex | None = None) -> bool:
        """As ``SessionAnswers.is_allowed_on_some``. Pass the newest ``index`` with the same
        decisions: an older index often lists all its ALLOWs again, which is slow."""
        known = self._on_some.get(operation)
        if known is None:
            known = self._on_some[operation] = is_allowed_on_some(
                index or self._index, self._who, operation, self._resource_type
            )
        return known

    def _masks_on(self, name: str, literal: Bucket | None, prefix: Prefix | None) -> Masks:
        allowed, denied = self._prefix_masks.get(prefix) or self._masks_with_shorter(prefix)
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

    def _masks_with_shorter(self, prefix: Prefix | None) -> Masks:
        known, find = self._prefix_masks, self._find_prefix
        if prefix is not None and prefix.value is not None:
            only = self._prefixed.only_acl(prefix)
            if only is not None:
                known[prefix] = masks = masks_of((only,), self._who)
                return masks
        unknown: list[Prefix] = []
        while prefix is not None and prefix not in known:
            unknown.append(prefix)
            prefix = prefix.shorter
        masks = known[prefix]
        while unknown:
            prefix = unknown.pop()
            bucket = find(prefix.name)
            if bucket is not None:
                allowed, denied = bucket.masks(self._who)
                masks = masks[0] | allowed, masks[1] | denied
            known[prefix] = masks
        return masks


class SessionBasis(NamedTuple):
    """The state and the cache that all sessions share."""

    acls: AclIndex
    allow_everyone: bool
    kafka: KafkaVersion
    remembered: RememberedSessions[SessionAnswers]


class SessionAnswers:
    """The decisions of one session. ``verdicts`` has cached decisions by resource type and name.

    The decisions are valid for ``index``, the result of change ``number`` of the ACLs.
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
        cache = self._caches.get(resource_type) or self._open(resource_type)
        return cache.on(name)

    def has_negative_prefixes(self, resource_type: ResourceType) -> bool:
        cache = self._caches.get(resource_type)
        return cache is not None and bool(cache.beginnings)

    def of_type(self, resource_type: ResourceType) -> SessionCache:
        return self._caches.get(resource_type) or self._open(resource_type)

    def _open(self, resource_type: ResourceType) -> SessionCache:
        refuse_type_any(resource_type)
        basis = self._basis
        who = basis.acls.with_blocks(subject(*self._identity, kafka=basis.kafka))
        verdicts = self._own_verdicts(resource_type)
        cache = SessionCache(basis, resource_type, who, self.is_super_user, verdicts)
        basis.remembered.count(1, TYPE_BYTES + getsizeof(who.hosts))
        self._caches[resource_type] = cache
        return cache

    def remember(self, resource_type: ResourceType, name: str, verdicts: Verdicts) -> None:
        """Cache ``verdicts``, which can come from a newer index with the same decisions."""
        if len(name) <= LONGEST_CACHED:
            self._basis.remembered.count(1, ENTRY_BYTES + CHARACTER_BYTES * len(name))
            self._own_verdicts(resource_type)[name] = verdicts

    def is_allowed_on_some(self, operation: Operation, resource_type: ResourceType) -> bool:
        """Whether an ALLOW of ``operation`` exists that no DENY dominates (KIP-679).

        Ignores super users and the default rule."""
        return self.of_type(resource_type).is_allowed_on_some(operation, self.index)

    def note_unaffected(self, index: AclIndex, number: int) -> None:
        """Remember that no change up to ``number`` affects the session."""
        self.index = index
        self.number = number

    def after(self, acls: Iterable[Acl], basis: SessionBasis, number: int) -> SessionAnswers:
        """The session after ``acls`` were added or removed, without the decisions that can change.

        A thread can still cache a decision by the old ACLs in the old session. So the old and the
        new session share no dict of a changed resource type, except ``NO_VERDICTS``.
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

    def _own_verdicts(self, resource_type: ResourceType) -> dict[str, Verdicts]:
        names = self.verdicts[resource_type]
        if names is NO_VERDICTS:
            names = self.verdicts[resource_type] = {}
        return names


def refuse_type_any(resource_type: ResourceType) -> None:
    if resource_type is ResourceType.ANY:
        raise InvalidRequest("a resource has one type: name it; ANY is for filters only")


def bytes_of(identity: Identity) -> int:
    """The approximate size in bytes of a session with an empty cache."""
    return SESSION_BYTES + sum(map(getsizeof, identity))


NO_VERDICTS: Final[dict[str, Verdicts]] = {}
"""Stands for a resource type without cached decisions; nobody may change this dict."""
