"""Decides by one index, one configuration and one state of the readiness gate.

Every change makes a new ``DecisionContext``. A session with many requests gets its own cache of
decisions (``session_cache``). All other sessions share one cache of the ACLs for each name.

This module must not know requests, nor how an answer is logged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from authorizer.config import AuthorizerConfig
from authorizer.engine.buckets import Bucket, FewAcls
from authorizer.engine.cache.remembered import (
    CHARACTER_BYTES,
    ENTRY_BYTES,
    MOST_CHANGES,
    Identity,
    RememberedSessions,
)
from authorizer.engine.cache.session_cache import (
    LONGEST_CACHED,
    SessionAnswers,
    SessionBasis,
    SessionCache,
    bytes_of,
    refuse_type_any,
)
from authorizer.engine.decide import (
    ALL_OPERATIONS,
    ALLOW,
    ALLOWED_TO_SUPER_USER,
    ALLOWS,
    VERDICTS,
    Decision,
    SubjectParts,
    Verdicts,
    subject,
    verdicts_of,
)
from authorizer.engine.index import AclIndex
from authorizer.engine.prefixes import Prefix
from authorizer.engine.resource_acls import ResourceAcls
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, Operation, PatternType, ResourceType
from metalog.errors import AuthorizerNotReady

MatchingAcls = Acl | ResourceAcls | Bucket | list[Bucket]
"""All ACLs for a name: the only ACL, the only bucket, or a list of buckets. The second request on
the name combines the list into a ``ResourceAcls``. Combining takes as long as a decision, and most
names get no second request before a change."""
AclsByName = dict[str | Prefix | None, MatchingAcls]
"""The key is the name if a LITERAL pattern has this name, or if the name begins with ``*``. Other
names share the entry of their longest prefix in the index. None stands for no such prefix."""
Inherited = tuple[int, RememberedSessions[SessionAnswers], list[AclsByName]]
"""The number of the next context, and the caches that the next context keeps."""
ANY: Final = ResourceType.ANY
_NONE_ALLOWED: Final = verdicts_of(0)
_HOST_AND_PRINCIPAL: Final = 2
"""The length of an identity without additional principals."""
_RESOURCE_TYPES: Final = len(ResourceType)
_LIST_BYTES: Final = 56
_REFERENCE_BYTES: Final = 16
"""The approximate sizes in bytes of an empty list, and of each item in a list."""


class DecisionContext:
    """Everything that a decision depends on.

    ``sessions`` has the sessions whose cached decisions are valid. A non-empty ``shut_by`` says why
    only super users get a decision.
    """

    __slots__ = (
        "_acls_by_name",
        "_basis",
        "_has_blocks",
        "_number",
        "_remembered",
        "allow_everyone",
        "config",
        "index",
        "kafka",
        "sessions",
        "shut_by",
        "super_users",
    )

    def __init__(
        self,
        index: AclIndex,
        config: AuthorizerConfig,
        *,
        shut_by: str,
        inherited: Inherited | None = None,
    ) -> None:
        self.index = index
        self.shut_by = shut_by
        self.super_users = config.super_users
        self.allow_everyone = config.allow_everyone
        self.kafka = config.kafka
        self.config = config
        if inherited is None:
            inherited = 0, RememberedSessions(), [{} for _ in range(_RESOURCE_TYPES)]
        self._number, self._remembered, self._acls_by_name = inherited
        self._has_blocks = self.kafka.matches_blocks and any(index.blocks)
        self._basis: SessionBasis | None = None
        self.sessions: dict[Identity, SessionAnswers] = {}
        self._remembered.bounded = (self._remembered.sessions, self.sessions, *self._acls_by_name)

    def after(self, index: AclIndex, acls: Sequence[Acl]) -> DecisionContext:
        """The next context, after ``acls`` were added or removed; ``index`` is the new index.

        The next context keeps the cached decisions that ``acls`` do not affect. If the next context
        can keep none, this method empties the cache.
        """
        is_kept = self._number < MOST_CHANGES and len(acls) < MOST_CHANGES
        if is_kept and self.allow_everyone:
            is_kept = all(_has_pattern(self.index, acl) == _has_pattern(index, acl) for acl in acls)
        inherited = None
        if is_kept:
            acls_by_name = self._acls_by_name.copy()
            for acl in acls:
                acls_by_name[acl.resource_type] = {}
            self._remembered.note_change(self._number + 1, acls)
            inherited = self._number + 1, self._remembered, acls_by_name
        else:
            self.forget()
        return DecisionContext(index, self.config, shut_by=self.shut_by, inherited=inherited)

    def forget(self) -> None:
        """Empty the cache, after another context has replaced this context."""
        self._remembered.forget()

    def uncached(self, identity: Identity, resource_type: ResourceType, name: str) -> Verdicts:
        """The results, by operation, for a session that is not in ``sessions``.

        Raises the errors of ``session``, and ``InvalidRequest`` if ``resource_type`` is ANY.
        """
        if self.shut_by or identity[1] in self.super_users:
            return self.session(identity).on(resource_type, name)
        acls = self._acls_by_name[resource_type].get(name)
        if acls is None:
            acls = self._acls_on(resource_type, name)
        elif type(acls) is list:
            acls = self._combine(resource_type, name, acls)
        verdicts = self._verdicts(identity, acls)
        if self._remembered.is_frequent(identity):
            self.session(identity).remember(resource_type, name, verdicts)
        return verdicts

    def add_to(
        self, answers: SessionAnswers, identity: Identity, resource_type: ResourceType, name: str
    ) -> Verdicts:
        """As ``uncached``, but cache the results in ``answers``, which lacks ``name``."""
        acls = self._acls_by_name[resource_type].get(name)
        if acls is None or answers.is_super_user or answers.has_negative_prefixes(resource_type):
            return answers.on(resource_type, name)
        verdicts = self._verdicts(identity, acls)
        answers.remember(resource_type, name, verdicts)
        return verdicts

    def _verdicts(self, identity: Identity, acls: MatchingAcls) -> Verdicts:
        has_one_principal = len(identity) == _HOST_AND_PRINCIPAL
        if type(acls) is ResourceAcls:
            principals = acls.principals
            if has_one_principal and principals is not None and identity[1] not in principals:
                return acls.others
        elif isinstance(acls, Acl):
            if has_one_principal and not self._has_blocks:
                return _verdicts_by(acls, identity)
            acls = FewAcls((acls,))
        if self._has_blocks:
            who: SubjectParts = self.index.with_blocks(subject(*identity, kafka=self.kafka))
        elif has_one_principal:
            who = (WILDCARD_PRINCIPAL, identity[1]), (WILDCARD, identity[0]), None
        else:
            who = (WILDCARD_PRINCIPAL, *identity[1:]), (WILDCARD, identity[0]), None
        if not isinstance(acls, list):
            allowed, denied = acls.masks(who)
        else:
            allowed = denied = 0
            for bucket in acls:
                more_allowed, more_denied = bucket.masks(who)
                allowed |= more_allowed
                denied |= more_denied
            if self.allow_everyone and not acls:
                allowed = ALL_OPERATIONS
        allowed &= ~denied
        return VERDICTS.get(allowed) or verdicts_of(allowed)

    def _acls_on(self, resource_type: ResourceType, name: str) -> MatchingAcls:
        if resource_type is ANY:
            refuse_type_any(resource_type)
        literals = self.index.literals[resource_type]
        prefixed = self.index.prefixed[resource_type]
        literal, prefix = literals.find(name), prefixed.longest_prefix(name)
        key: str | Prefix | None = name
        if literal is None and name[:1] != WILDCARD:
            if prefix is not None and prefix.value is not None and literals.wildcard is None:
                only = prefixed.only_acl(prefix)
                if only is not None:
                    return only
            key, shared = prefix, self._acls_by_name[resource_type].get(prefix)
            if shared is not None:
                if type(shared) is list:
                    return self._combine(resource_type, prefix, shared)
                return shared
        buckets = self.index.buckets_of(resource_type, name, literal, prefix)
        acls: MatchingAcls = buckets
        if len(buckets) == 1 and type(buckets[0]) is FewAcls and not _names_everybody(buckets[0]):
            acls = buckets[0]
        if len(name) <= LONGEST_CACHED:
            size = _LIST_BYTES + _REFERENCE_BYTES * len(buckets) + CHARACTER_BYTES * len(name)
            self._remembered.count(1, ENTRY_BYTES + size)
            self._acls_by_name[resource_type][key] = acls
        return acls

    def _combine(
        self, resource_type: ResourceType, key: str | Prefix | None, buckets: list[Bucket]
    ) -> ResourceAcls:
        acls = ResourceAcls(buckets, is_default_allow=self.allow_everyone)
        self._acls_by_name[resource_type][key] = acls
        self._remembered.count(0, acls.size)
        return acls

    def session(self, identity: Identity) -> SessionAnswers:
        """A session's decisions. Raises ``AuthorizerNotReady`` if the gate refuses the session."""
        return self.sessions.get(identity) or self._open(identity)

    def session_cache(self, resource_type: ResourceType, identity: Identity) -> SessionCache:
        """The session's decisions on resources of one type; raises the errors of ``uncached``."""
        return self.session(identity).of_type(resource_type)

    def decide(
        self, identity: Identity, operation: Operation, resource_type: ResourceType, name: str
    ) -> Decision:
        """The decision and its rule, without the cache; raises the errors of ``uncached``."""
        refuse_type_any(resource_type)
        if self._is_super_user(identity):
            return ALLOWED_TO_SUPER_USER
        who = subject(*identity, kafka=self.kafka)
        return self.index.decide(
            who, operation, resource_type, name, allow_everyone=self.allow_everyone
        )

    def _open(self, identity: Identity) -> SessionAnswers:
        is_super_user = self._is_super_user(identity)
        number, remembered = self._number, self._remembered
        basis = self._basis
        if basis is None:
            basis = SessionBasis(self.index, self.allow_everyone, self.kafka, remembered)
            self._basis = basis
        answers = remembered.sessions.get(identity)
        if answers is None or answers.number > number:  # a later context has updated it already
            answers = SessionAnswers(basis, identity, number, is_super_user=is_super_user)
            remembered.count(0, bytes_of(identity))
        elif answers.number < number:
            changed = remembered.touching(identity, answers.number)
            if changed:
                answers = answers.after(changed, basis, number)
            else:
                answers.note_unaffected(self.index, number)
        self.sessions[identity] = remembered.sessions[identity] = answers
        return answers

    def _is_super_user(self, identity: Identity) -> bool:
        if identity[1] in self.super_users:
            return True
        if self.shut_by:
            raise AuthorizerNotReady(self.shut_by)
        return False


def _verdicts_by(acl: Acl, identity: Identity) -> Verdicts:
    """The results for a session with one principal, if ``acl`` is the only ACL for the name."""
    host, principal = identity
    if (
        acl.permission_type is ALLOW
        and acl.principal in (WILDCARD_PRINCIPAL, principal)
        and acl.host in (WILDCARD, host)
    ):
        allowed = ALLOWS[acl.operation]
        return VERDICTS.get(allowed) or verdicts_of(allowed)
    return _NONE_ALLOWED


def _names_everybody(acls: FewAcls) -> bool:
    return any(acl.principal == WILDCARD_PRINCIPAL for acl in acls)


def _has_pattern(index: AclIndex, acl: Acl) -> bool:
    is_literal = acl.pattern_type is PatternType.LITERAL
    patterns = (index.literals if is_literal else index.prefixed)[acl.resource_type]
    return acl.resource_name in patterns.buckets
