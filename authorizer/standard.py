"""StandardAuthorizer: KIP-504's interface over the index, with KIP-801's readiness gate.

It is a publisher: a Replica feeds it images. Everything that changes it runs on one
thread; any thread may ask. What it answers from is one attribute, taken once a call.

This module must not know logs, records or files.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from authorizer import audit
from authorizer.api import (
    Action,
    AuthorizationResults,
    Authorizer,
    RequestContext,
    ResourcePattern,
)
from authorizer.config import AuthorizerConfig, from_properties
from authorizer.decide import (
    ALLOWED,
    ALLOWED_TO_SUPER_USER,
    DENIED,
    AuthorizationResult,
    Decision,
)
from authorizer.index import IndexWriter
from metalog.acl import ANY_ACL, Acl, AclFilter, Operation, PatternType, ResourceType
from metalog.errors import AuthorizerNotReady, InvalidRequest

if TYPE_CHECKING:
    from metalog.ids import Uuid
    from metalog.image.delta import MetadataDelta
    from metalog.image.manifest import Manifest
    from metalog.image.metadata import MetadataImage

_log = logging.getLogger(__name__)
_audit_log = logging.getLogger(audit.LOGGER)
LITERAL = PatternType.LITERAL


class StandardAuthorizer(Authorizer):
    """``org.apache.kafka.metadata.authorizer.StandardAuthorizer``, replayed in Python."""

    def __init__(self, config: AuthorizerConfig | None = None) -> None:
        self._config = config or AuthorizerConfig()
        self._writer = IndexWriter()
        self._by_id: Mapping[Uuid, Acl] = {}
        self._ready = False
        self._initial_load: Future[None] = Future()

    @classmethod
    def configured(cls, configs: Mapping[str, object]) -> StandardAuthorizer:
        authorizer = cls()
        authorizer.configure(configs)
        return authorizer

    @classmethod
    def from_acls(
        cls,
        acls: Iterable[Acl],
        *,
        super_users: Iterable[str] = (),
        allow_everyone: bool = False,
    ) -> StandardAuthorizer:
        """Ready at once, with these ACLs and no log."""
        authorizer = cls(AuthorizerConfig(frozenset(super_users), allow_everyone))
        authorizer.load_snapshot({_id_of(number): acl for number, acl in enumerate(acls, 1)})
        authorizer.complete_initial_load()
        return authorizer

    def configure(self, configs: Mapping[str, object]) -> None:
        self._config, warnings = from_properties(configs)
        for warning in warnings:
            _log.warning("%s", warning)

    def start(self, server_info: Mapping[str, str]) -> dict[str, Future[None]]:
        return {
            listener: _done()
            if listener in self._config.early_start_listeners
            else self._initial_load
            for listener in server_info
        }

    def authorize(self, context: RequestContext, actions: Sequence[Action]) -> AuthorizationResults:
        """A result for each action, in order, all of them from the same image.

        ``AuthorizerNotReady`` until the initial load is complete, unless a super user asks.
        """
        return AuthorizationResults([self._authorize(context, action) for action in actions])

    def is_allowed(self, context: RequestContext, action: Action) -> bool:
        return self._authorize(context, action) is ALLOWED

    def decide(self, context: RequestContext, action: Action) -> Decision:
        """The result with its rule; not audited."""
        resource = action.resource
        if resource.pattern_type is not LITERAL:
            raise InvalidRequest(
                f"only LITERAL resources can be authorized, not {resource.pattern_type.name}"
            )
        if context.principal in self._config.super_users:
            return ALLOWED_TO_SUPER_USER
        if not self._ready:
            raise AuthorizerNotReady("the ACLs are not loaded yet; try again")
        return self._writer.index.decide(
            (context.principal, *context.additional_principals),
            context.host,
            action.operation,
            resource.resource_type,
            resource.name,
            allow_everyone=self._config.allow_everyone,
        )

    def authorize_by_resource_type(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType
    ) -> AuthorizationResult:
        if resource_type <= ResourceType.ANY or operation <= Operation.ANY:
            raise InvalidRequest(
                f"{operation.name} on {resource_type.name}: both must be definite to be authorized"
            )
        hardcode = Action(operation, ResourcePattern(resource_type, "hardcode"), 0, True, False)
        if self._authorize(context, hardcode) is ALLOWED:
            return ALLOWED
        return self._writer.index.decide_by_resource_type(
            (context.principal, *context.additional_principals),
            context.host,
            operation,
            resource_type,
        )

    def acls(self, acl_filter: AclFilter = ANY_ACL) -> Sequence[Acl]:
        """The ACLs that match, in Kafka's order; one that has several ids comes once."""
        return self._writer.index.acls(acl_filter)

    def acl_count(self) -> int:
        return len(self._by_id)

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        """Take over what changed about ACLs; the loader publishes nothing before it is ready."""
        changes = delta.acls
        if changes is not None and changes.is_replacement:
            self._writer.load(image.acls.by_id.values())
        elif changes is not None:
            self._writer.apply(changes.changes, changes.image.by_id)
        self._by_id = image.acls.by_id

    def complete_initial_load(self) -> None:
        self._ready = True
        if not self._initial_load.done():
            self._initial_load.set_result(None)

    def load_snapshot(self, acls: Mapping[Uuid, Acl]) -> None:
        by_id = dict(acls)
        self._writer.load(by_id.values())
        self._by_id = by_id

    def add_acl(self, id: Uuid, acl: Acl) -> None:
        self._change(id, acl)

    def remove_acl(self, id: Uuid) -> None:
        self._change(id, None)

    def close(self) -> None:
        if not self._initial_load.done():
            self._initial_load.set_exception(
                AuthorizerNotReady("the authorizer was closed before its initial load was complete")
            )

    def _change(self, id: Uuid, acl: Acl | None) -> None:
        by_id = self._by_id if isinstance(self._by_id, dict) else dict(self._by_id)
        self._writer.apply({id: acl}, by_id)
        if acl is None:
            by_id.pop(id, None)
        else:
            by_id[id] = acl
        self._by_id = by_id

    def _authorize(self, context: RequestContext, action: Action) -> AuthorizationResult:
        decision = self.decide(context, action)
        if decision.result is DENIED:
            level = logging.INFO if action.log_if_denied else audit.TRACE
        else:
            level = logging.DEBUG if action.log_if_allowed else audit.TRACE
        if _audit_log.isEnabledFor(level):
            _audit_log.log(level, "%s", audit.format_line(context, action, decision))
        return decision.result


def _done() -> Future[None]:
    done: Future[None] = Future()
    done.set_result(None)
    return done


def _id_of(number: int) -> Uuid:
    from metalog.ids import Uuid

    return Uuid(number.to_bytes(16, "big"))
