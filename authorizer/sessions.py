"""What an index answers, remembered for as long as the index lasts.

A ``Decider`` is an index with the configuration and the gate: all that an answer
depends on. It remembers, for each session, the operations that are allowed on each
name, as one tuple of results to be indexed by operation. Whatever changes makes
another decider, so nothing remembered can be out of date. Threads may
remember at once: at worst they work out the same thing twice.

This module must not know requests, nor how an answer is logged.
"""

from __future__ import annotations

from typing import Final

from authorizer.decide import (
    ALL_OPERATIONS,
    ALLOWED,
    ALLOWED_TO_SUPER_USER,
    DENIED,
    AuthorizationResult,
    Decision,
    session,
)
from authorizer.index import AclIndex
from authorizer.prefixes import Prefix
from metalog.acl import WILDCARD, Operation, PatternType, ResourceType
from metalog.errors import AuthorizerNotReady

REMEMBERED: Final = 1 << 17
"""How many names, over all sessions, a decider remembers before it starts again."""
LONGEST_REMEMBERED: Final = 255
"""A name longer than any topic's is worked out each time, so that memory is bounded too."""

Identity = tuple[str, ...]
"""A session's host, its principal, and its additional principals."""
Verdicts = tuple[AuthorizationResult, ...]


class Decider:
    """``sessions`` holds those that were asked for; ``open`` gives any."""

    __slots__ = ("_remembered", "allow_everyone", "index", "is_open", "sessions", "super_users")

    def __init__(
        self, index: AclIndex, super_users: frozenset[str], allow_everyone: bool, is_open: bool
    ) -> None:
        self.index = index
        self.super_users = super_users
        self.allow_everyone = allow_everyone
        self.is_open = is_open
        self.sessions: dict[Identity, Session] = {}
        self._remembered = 0

    def open(self, identity: Identity) -> Session:
        """The session of ``identity``; ``AuthorizerNotReady`` while the gate is shut, unless it
        is a super user's."""
        is_super_user = identity[1] in self.super_users
        if not (self.is_open or is_super_user):
            raise AuthorizerNotReady("the ACLs are not loaded up to the high-water mark yet")
        self.count_remembered()
        found = self.sessions[identity] = Session(self, identity, is_super_user)
        return found

    def count_remembered(self) -> None:
        self._remembered += 1
        if self._remembered > REMEMBERED:
            self._remembered = 0
            self.sessions = {}


class Session:
    """What one session may do.

    ``verdicts``, by resource type and name, are the results by operation, where
    they are known; ``on`` gives those of any name.
    """

    __slots__ = ("_by_type", "_decider", "_is_super_user", "_masks", "verdicts", "who")

    def __init__(self, decider: Decider, identity: Identity, is_super_user: bool) -> None:
        self._decider = decider
        self._is_super_user = is_super_user
        self.who = session(*identity)
        self.verdicts: list[dict[str, Verdicts]] = [{} for _ in ResourceType]
        self._masks: dict[Prefix, tuple[int, int]] = {}
        self._by_type: dict[tuple[Operation, ResourceType], bool] = {}

    def on(self, resource_type: ResourceType, name: str) -> Verdicts:
        verdicts = _verdicts(self._allowed(resource_type, name))
        if len(name) <= LONGEST_REMEMBERED:
            self._decider.count_remembered()
            self.verdicts[resource_type][name] = verdicts
        return verdicts

    def decide(self, operation: Operation, resource_type: ResourceType, name: str) -> Decision:
        """The result with its rule."""
        if self._is_super_user:
            return ALLOWED_TO_SUPER_USER
        return self._decider.index.decide(
            self.who, operation, resource_type, name, allow_everyone=self._decider.allow_everyone
        )

    def is_allowed_by_resource_type(
        self, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Whether an ALLOW of ``operation`` exists that no DENY dominates (KIP-679)."""
        key = operation, resource_type
        known = self._by_type.get(key)
        if known is None:
            known = self._by_type[key] = self._may_on_some(operation, resource_type)
        return known

    def _may_on_some(self, operation: Operation, resource_type: ResourceType) -> bool:
        index = self._decider.index
        wildcard = index.literal(resource_type, WILDCARD)
        if wildcard is not None and wildcard.masks(self.who)[1] >> operation & 1:
            return False
        for acl in index.allowing(self.who, operation, resource_type):
            literal = None
            if acl.pattern_type is PatternType.LITERAL:
                if acl.resource_name == WILDCARD:
                    return True
                literal = index.literal(resource_type, acl.resource_name)
            prefix = index.longest_prefix(resource_type, acl.resource_name)
            denied = self._prefix_masks(resource_type, prefix)[1]
            if literal is not None:
                denied |= literal.masks(self.who)[1]
            if not denied >> operation & 1:
                return True
        return False

    def _allowed(self, resource_type: ResourceType, name: str) -> int:
        """The operations that are allowed on a resource, a bit each."""
        if self._is_super_user:
            return ALL_OPERATIONS
        index = self._decider.index
        prefix = index.longest_prefix(resource_type, name)
        allowed, denied = self._prefix_masks(resource_type, prefix)
        is_reached = prefix is not None
        for bucket in (index.literal(resource_type, name), index.wildcard(resource_type, name)):
            if bucket is not None:
                is_reached = True
                more_allowed, more_denied = bucket.masks(self.who)
                allowed |= more_allowed
                denied |= more_denied
        if is_reached or not self._decider.allow_everyone:
            return allowed & ~denied
        return ALL_OPERATIONS

    def _prefix_masks(self, resource_type: ResourceType, prefix: Prefix | None) -> tuple[int, int]:
        """What ``prefix`` and all shorter ones allow and deny this session together."""
        masks = self._masks
        unknown: list[Prefix] = []
        while prefix is not None and prefix not in masks:
            unknown.append(prefix)
            prefix = prefix.shorter
        allowed, denied = (0, 0) if prefix is None else masks[prefix]
        for each in reversed(unknown):
            more_allowed, more_denied = self._decider.index.prefixed(resource_type, each).masks(
                self.who
            )
            allowed |= more_allowed
            denied |= more_denied
            masks[each] = allowed, denied
        return allowed, denied


_known_verdicts: dict[int, Verdicts] = {}


def _verdicts(allowed: int) -> Verdicts:
    known = _known_verdicts.get(allowed)
    if known is None:
        known = tuple([ALLOWED if allowed >> operation & 1 else DENIED for operation in Operation])
        _known_verdicts[allowed] = known
    return known
