"""Adapts KIP-11 authorizers to KIP-504's interface, which a node calls.

``Kip11Adapter`` denies or refuses requests that KIP-11's interface cannot express.
``SimpleAclAdapter`` answers such requests. This module must not know how a decision is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from authorizer.answers import AUDIT_LOG, audit_level
from authorizer.api import Action, RequestContext
from authorizer.audit import line as audit
from authorizer.compat.kip11.model import Resource, Session
from authorizer.engine.decide import ALLOWED, DENIED, AuthorizationResult, Decision
from authorizer.interface import AuthorizationResults, Authorizer
from metalog.acl import ANY_ACL, Acl, AclFilter, Operation, ResourceType
from metalog.errors import InvalidRequest

if TYPE_CHECKING:
    from authorizer.compat.kip11.interface import Authorizer as Kip11Authorizer
    from authorizer.compat.kip11.simple import SimpleAclAuthorizer


class Kip11Adapter(Authorizer):
    """Calls only ``initialize`` and ``authorize`` of a KIP-11 authorizer."""

    def __init__(self, authorizer: Kip11Authorizer) -> None:
        self.authorizer = authorizer

    def configure(self, configs: Mapping[str, object]) -> None:
        self.authorizer.initialize(configs)

    def start(self, server_info: Mapping[str, str]) -> dict[str, Future[None]]:
        """Return completed futures, because KIP-11 has no readiness."""
        done: Future[None] = Future()
        done.set_result(None)
        return dict.fromkeys(server_info, done)

    def authorize(self, context: RequestContext, actions: Sequence[Action]) -> AuthorizationResults:
        if context.additional_principals:
            raise InvalidRequest(
                "KIP-11 supports one principal per session, and would ignore a DENY for the others"
            )
        session = Session(context.principal, context.host)
        return AuthorizationResults([self._answer(session, action) for action in actions])

    def _answer(self, session: Session, action: Action) -> AuthorizationResult:
        resource = action.resource
        kip11_resource = Resource(resource.resource_type, resource.name, resource.pattern_type)
        is_allowed = self.authorizer.authorize(session, action.operation, kip11_resource)
        return ALLOWED if is_allowed is True else DENIED

    def authorize_by_resource_type(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType
    ) -> AuthorizationResult:
        """Deny, because KIP-11 cannot express this question of KIP-679."""
        return DENIED

    def acls(self, acl_filter: AclFilter = ANY_ACL) -> Sequence[Acl]:
        raise InvalidRequest("KIP-11's interface cannot list ACLs by a filter; call its get_acls")

    def close(self) -> None:
        """Do nothing, because KIP-11 has nothing to close."""


class SimpleAclAdapter(Kip11Adapter):
    """Adapts SimpleAclAuthorizer. Its StandardAuthorizer gets the images and changes ACLs."""

    def __init__(self, authorizer: SimpleAclAuthorizer) -> None:
        super().__init__(authorizer)
        self._simple = authorizer
        self._standard = authorizer.standard
        self.create_acls = authorizer.standard.create_acls
        self.delete_acls = authorizer.standard.delete_acls
        self.publish = authorizer.publish
        self.complete_initial_load = authorizer.complete_initial_load
        self.note_load_fault = authorizer.note_load_fault
        self.note_staleness = authorizer.note_staleness
        self.set_acl_mutator = authorizer.set_acl_mutator

    def start(self, server_info: Mapping[str, str]) -> dict[str, Future[None]]:
        return self._standard.start(server_info)

    def authorize(self, context: RequestContext, actions: Sequence[Action]) -> AuthorizationResults:
        decisions = self._simple.decide(context, actions)
        for action, decision in zip(actions, decisions, strict=True):
            _audit(context, action, decision)
        return AuthorizationResults([decision.result for decision in decisions])

    def authorize_by_resource_type(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType
    ) -> AuthorizationResult:
        is_allowed = self._simple.is_allowed_on_some(context, operation, resource_type)
        return ALLOWED if is_allowed else DENIED

    def acls(self, acl_filter: AclFilter = ANY_ACL) -> Sequence[Acl]:
        return self._standard.acls(acl_filter)

    def acl_count(self) -> int:
        return self._standard.acl_count()

    def is_super_user(self, principal: str) -> bool:
        return self._standard.is_super_user(principal)

    def close(self) -> None:
        self._standard.close()


def _audit(context: RequestContext, action: Action, decision: Decision) -> None:
    level = audit_level(action, decision.result)
    if AUDIT_LOG.isEnabledFor(level):
        line = audit.format_line(context, action, decision)
        AUDIT_LOG.log(level, "%s", line, extra=audit.source(context))
