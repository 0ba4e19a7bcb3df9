"""Answers a session's actions from one decision context, and writes the audit lines.

All actions are answered from the same index. This module must not know how a decider came to be.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from authorizer.api import Action, RequestContext, ResourcePattern
from authorizer.audit import line as audit
from authorizer.engine.decide import ALLOWED, AuthorizationResult, Decision
from authorizer.engine.decision_cache import DecisionContext, Identity, SessionCache
from metalog.acl import PatternType, ResourceType
from metalog.errors import InvalidRequest

AUDIT_LOG: Final = logging.getLogger(audit.LOGGER)
LITERAL: Final = PatternType.LITERAL
INFO: Final = logging.INFO
DEBUG: Final = logging.DEBUG


def results_of(
    decider: DecisionContext, identity: Identity, actions: Sequence[Action]
) -> list[AuthorizationResult]:
    """A result for each of ``actions``. Those that follow each other are mostly on resources of
    one type: one scope."""
    results = []
    resource_type: ResourceType | None = None
    for action in actions:
        resource = action.resource
        if resource.resource_type is not resource_type or resource.pattern_type is not LITERAL:
            scope = scope_of(decider, identity, resource)
            known, resource_type = scope.verdicts, resource.resource_type
        verdicts = known.get(resource.name) or scope.on(resource.name)
        results.append(verdicts[action.operation])
    return results


def decision_of(decider: DecisionContext, context: RequestContext, action: Action) -> Decision:
    """The result of ``action``, with its rule."""
    scope = scope_of(decider, context.identity, action.resource)
    return scope.decide(action.operation, action.resource.name)


def scope_of(
    decider: DecisionContext, identity: Identity, resource: ResourcePattern
) -> SessionCache:
    """Where ``identity`` is answered about ``resource``; ``InvalidRequest`` unless LITERAL."""
    if resource.pattern_type is not LITERAL:
        raise InvalidRequest(
            f"only LITERAL resources can be authorized, not {resource.pattern_type.name}"
        )
    return decider.scope(resource.resource_type, identity)


def audit_all(
    decider: DecisionContext,
    context: RequestContext,
    actions: Sequence[Action],
    results: Sequence[AuthorizationResult],
) -> None:
    """Log as Kafka does; the rule is found only if the line is wanted."""
    if not AUDIT_LOG.isEnabledFor(INFO):
        return
    for action, result in zip(actions, results, strict=True):
        if result is ALLOWED:
            level = DEBUG if action.log_if_allowed else audit.TRACE
        else:
            level = INFO if action.log_if_denied else audit.TRACE
        if AUDIT_LOG.isEnabledFor(level):
            line = audit.format_line(context, action, decision_of(decider, context, action))
            AUDIT_LOG.log(level, "%s", line, extra=audit.source(context))
