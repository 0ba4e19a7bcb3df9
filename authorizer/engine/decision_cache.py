"""Caches an index's answers for as long as the index lasts.

A ``DecisionContext`` is an index with the configuration and the gate: all that an answer
depends on. It gives each session a ``SessionCache`` for each type of resource, and the scope
remembers, by name, the results of all operations: one tuple, indexed by operation.
Whatever changes makes another decider, so nothing remembered is ever out of date.
Threads may remember at once: at worst they work out the same thing twice.

This module must not know requests, nor how an answer is logged.
"""

from __future__ import annotations

from operator import attrgetter
from sys import getsizeof
from typing import Final

from authorizer.config import AuthorizerConfig
from authorizer.engine.buckets import Bucket
from authorizer.engine.decide import (
    ALL_OPERATIONS,
    ALLOWED,
    ALLOWED_TO_SUPER_USER,
    DENIED,
    AuthorizationResult,
    Decision,
    concerns,
    session,
)
from authorizer.engine.index import PATTERN_TYPES, AclIndex
from authorizer.engine.prefixes import Prefix, combined
from metalog.acl import WILDCARD, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import AuthorizerNotReady, InvalidRequest

REMEMBERED = 1 << 17
"""How many answers, over all scopes, a decider remembers before it starts again; what
prefixes come to is counted too, or a deep nest of them would fill the memory by sessions."""
REMEMBERED_BYTES = 1 << 27
"""About as many bytes may what a decider remembers take, before it starts again: sessions and
names come from clients, who may make each of them long."""
SCOPE_BYTES: Final = 1300
ENTRY_BYTES: Final = 110
"""About what a scope and a remembered answer take beside their texts, as CPython 3.11 lays them
out."""
LONGEST_REMEMBERED: Final = 255
"""A name longer than any topic's is worked out each time: what is remembered stays small."""
STEM_LENGTHS: tuple[int, ...] = (32, 16, 8, 4, 0)
"""So many characters of a name are tried as its stem, from long to short."""
BESIDE_STEMS = 512
"""A scope that remembers fewer names also remembers by name, which is quicker, what a stem told."""

Identity = tuple[str, ...]
"""A session's host, its principal, and its additional principals."""
Verdicts = tuple[AuthorizationResult, ...]
Masks = tuple[int, int]
"""The operations that are allowed, and those that are denied, a bit each."""

_RESOURCE_TYPES: Final = len(ResourceType)
_FEW_HOSTS_BYTES: Final = getsizeof(frozenset("*h"))
"""The hosts of a session that is in no block; those of one that is in many take more."""


class DecisionContext:
    """``scopes``, by resource type and session, are those asked for; ``scope`` gives any.

    ``shut_by`` is the reason for which only super users are answered; empty where there is none.
    """

    __slots__ = (
        "_bytes",
        "_remembered",
        "allow_everyone",
        "index",
        "kafka",
        "scopes",
        "shut_by",
        "super_users",
    )

    def __init__(self, index: AclIndex, config: AuthorizerConfig, *, shut_by: str) -> None:
        self.index = index
        self.super_users = config.super_users
        self.allow_everyone = config.allow_everyone
        self.kafka = config.kafka
        self.shut_by = shut_by
        self._forget()

    def scope(self, resource_type: ResourceType, identity: Identity) -> SessionCache:
        """``AuthorizerNotReady`` while the gate is shut, unless a super user asks."""
        return self.scopes[resource_type].get(identity) or self._open(resource_type, identity)

    def _open(self, resource_type: ResourceType, identity: Identity) -> SessionCache:
        if resource_type is ResourceType.ANY:
            raise InvalidRequest("a resource has one type: name it, ANY is for filters only")
        if identity[1] in self.super_users:
            scope = SessionCache(self, resource_type, identity, is_super_user=True)
        elif not self.shut_by:
            scope = SessionCache(self, resource_type, identity, is_super_user=False)
        else:
            raise AuthorizerNotReady(self.shut_by)
        self.count_remembered(1, scope.size + sum(map(getsizeof, identity)))
        scopes = self.scopes[resource_type]
        if scopes is NO_SCOPES:
            scopes = self.scopes[resource_type] = {}
        scopes[identity] = scope
        return scope

    def count_remembered(self, answers: int, size: int) -> None:
        self._remembered += answers
        self._bytes += size
        if self._remembered > REMEMBERED or self._bytes > REMEMBERED_BYTES:
            self._forget()

    def _forget(self) -> None:
        self._remembered = self._bytes = 0
        self.scopes = [NO_SCOPES] * _RESOURCE_TYPES


class SessionCache:
    """What one session may do on resources of one type.

    ``verdicts``, by name, are the results by operation, where they are known; ``on`` gives
    those of any name. Names that no pattern has are told by a stem, where there is one:
    all names that begin with it are answered alike, so it stands for all of them.
    """

    __slots__ = (
        "_beginnings",
        "_by_type",
        "_decider",
        "_is_super_user",
        "_literal_names",
        "_literals",
        "_prefix_masks",
        "_prefixed",
        "_resource_type",
        "_room_beside_stems",
        "_stems",
        "_who",
        "_wildcard_masks",
        "verdicts",
    )

    def __init__(
        self,
        decider: DecisionContext,
        resource_type: ResourceType,
        identity: Identity,
        *,
        is_super_user: bool,
    ) -> None:
        self.verdicts: dict[str, Verdicts] = {}
        self._decider = decider
        self._resource_type = resource_type
        self._who = decider.index.placed(session(*identity, kafka=decider.kafka))
        self._is_super_user = is_super_user
        literals = decider.index.literals(resource_type)
        self._literals = literals.buckets
        self._literal_names = literals.names
        self._prefixed = decider.index.prefixed(resource_type)
        wildcard = self._literals.get(WILDCARD)
        self._wildcard_masks = None if wildcard is None else wildcard.masks(self._who)
        self._prefix_masks: dict[Prefix | None, Masks] = {None: (0, 0)}
        self._by_type: dict[Operation, bool] = {}
        self._stems: dict[str, Verdicts] = {}
        self._beginnings: list[slice] = []
        self._room_beside_stems = BESIDE_STEMS

    @property
    def size(self) -> int:
        """About how many bytes it takes before it remembers anything."""
        return SCOPE_BYTES + getsizeof(self._who.hosts) - _FEW_HOSTS_BYTES

    def on(self, name: str) -> Verdicts:
        for beginning in self._beginnings:
            verdicts = self._stems.get(name[beginning])
            if verdicts is not None:
                if self._room_beside_stems:
                    self._room_beside_stems -= 1
                    self._remember(name, verdicts)
                return verdicts
        if self._is_super_user:
            return self._remember_stem("", _verdicts_of(ALL_OPERATIONS))
        literal = self._literals.get(name)
        verdicts = _verdicts_of(self._allowed(name, literal))
        stem = self._stem(name) if literal is None else None
        if stem is None:
            return self._remember(name, verdicts)
        return self._remember_stem(stem, verdicts)

    def _remember(self, name: str, verdicts: Verdicts) -> Verdicts:
        if len(name) <= LONGEST_REMEMBERED:
            self._decider.count_remembered(1, ENTRY_BYTES + getsizeof(name))
            self.verdicts[name] = verdicts
        return verdicts

    def _remember_stem(self, stem: str, verdicts: Verdicts) -> Verdicts:
        self._decider.count_remembered(1, ENTRY_BYTES + getsizeof(stem))
        self._stems[stem] = verdicts
        beginning = slice(len(stem))
        if beginning not in self._beginnings:
            listed = [*self._beginnings, beginning]
            self._beginnings = sorted(listed, key=attrgetter("stop"), reverse=True)
        return verdicts

    def _stem(self, name: str) -> str | None:
        """The shortest beginning of ``name``, of those tried, that no pattern's name begins
        with: the same patterns reach all names that begin so."""
        literals, prefixed = self._literal_names, self._prefixed.names
        shortest = None
        for length in STEM_LENGTHS:
            if length <= len(name):
                stem = name[:length]
                if literals.any_begins_with(stem) or prefixed.any_begins_with(stem):
                    break
                shortest = stem
        return shortest

    def allowed_on(self, name: str) -> int:
        """The operations that are allowed on ``name``, a bit each; nothing is remembered."""
        if self._is_super_user:
            return ALL_OPERATIONS
        return self._allowed(name, self._literals.get(name))

    def masks_on(self, name: str) -> Masks:
        """What the ACLs and the default rule allow and deny on ``name``, to no super user; nothing
        is remembered."""
        return self._masks_on(name, self._literals.get(name))

    def decide(self, operation: Operation, name: str) -> Decision:
        """The result with its rule."""
        if self._is_super_user:
            return ALLOWED_TO_SUPER_USER
        return self._decider.index.decide(
            self._who,
            operation,
            self._resource_type,
            name,
            allow_everyone=self._decider.allow_everyone,
        )

    def is_allowed_on_some(self, operation: Operation) -> bool:
        """Whether an ALLOW of ``operation`` exists that no DENY dominates (KIP-679)."""
        known = self._by_type.get(operation)
        if known is None:
            known = self._by_type[operation] = self._may_on_some(operation)
        return known

    def _allowed(self, name: str, literal: Bucket | None) -> int:
        """The operations that are allowed on ``name``, a bit each."""
        allowed, denied = self._masks_on(name, literal)
        return allowed & ~denied

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
        elif literal is None and prefix is None and self._decider.allow_everyone:
            return ALL_OPERATIONS, 0
        return allowed, denied

    def _masks_up_from(self, prefix: Prefix | None) -> Masks:
        """What ``prefix`` and all shorter ones allow and deny this session together."""
        known = self._prefix_masks
        unknown: list[Prefix] = []
        while prefix is not None and prefix not in known:
            unknown.append(prefix)
            prefix = prefix.shorter
        self._decider.count_remembered(len(unknown), len(unknown) * ENTRY_BYTES)
        allowed, denied = known[prefix]
        for each in reversed(unknown):
            more_allowed, more_denied = self._prefixed.buckets[each.name].masks(self._who)
            allowed |= more_allowed
            denied |= more_denied
            known[each] = allowed, denied
        return allowed, denied

    def _may_on_some(self, operation: Operation) -> bool:
        wildcard = self._literals.get(WILDCARD)
        if wildcard is not None and self._denies_by_type(wildcard, operation):
            return False
        prefix_denies: dict[Prefix | None, bool] = {None: False}
        allowing = self._decider.index.allowing(self._who, operation, self._resource_type)
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
            and self._who.is_meant_by(acl)
            for acl in bucket.of(self._who)
        )


NO_SCOPES: Final[dict[Identity, SessionCache]] = {}
"""Stands where no scope was asked for yet; stays empty."""
_VERDICTS: Final[dict[int, Verdicts]] = {}


def _verdicts_of(allowed: int) -> Verdicts:
    """The results by operation, of which equal ones are one tuple."""
    verdicts = _VERDICTS.get(allowed)
    if verdicts is None:
        listed = [ALLOWED if allowed >> operation & 1 else DENIED for operation in Operation]
        verdicts = _VERDICTS[allowed] = tuple(listed)
    return verdicts
