"""Decides a client's actions by one ``DecisionContext``, and writes the audit lines.

This module must not know how a ``DecisionContext`` is made.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from authorizer.api import Action, RequestContext, ResourcePattern
from authorizer.audit import line as audit
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.cache.remembered import Identity
from authorizer.engine.decide import ALLOWED, AuthorizationResult, Decision
from metalog.acl import PatternType, ResourceType
from metalog.errors import InvalidRequest

AUDIT_LOG: Final = logging.getLogger(audit.LOGGER)
LITERAL: Final = PatternType.LITERAL
INFO: Final = logging.INFO


def results_of(
    decisions: DecisionContext, identity: Identity, actions: Sequence[Action]
) -> list[AuthorizationResult]:
    """The results of ``actions`` for the session ``identity``, in order."""
    answers = decisions.session(identity)
    results: list[AuthorizationResult] = []
    latest_type = None
    decided_types: set[ResourceType] = set()
    for action in actions:
        resource = action.resource
        if resource.pattern_type is not LITERAL:
            refuse_other_patterns(resource)
        if resource.resource_type is not latest_type:
            latest_type = resource.resource_type
            cache = answers.of_type(latest_type)
            known, decide = cache.verdicts.get, cache.on
        name = resource.name
        verdicts = known(name)
        if verdicts is None:
            if latest_type not in decided_types:
                decided_types.add(latest_type)
                rest = [each.resource for each in actions[len(results) :]]
                cache.add_all([each.name for each in rest if each.resource_type is latest_type])
            verdicts = known(name) or decide(name)
        results.append(verdicts[action.operation])
    return results


def decision_of(decisions: DecisionContext, context: RequestContext, action: Action) -> Decision:
    """The result of ``action``, and the rule and the ACL that decided it."""
    resource = action.resource
    if resource.pattern_type is not LITERAL:
        refuse_other_patterns(resource)
    return decisions.decide(
        context.identity, action.operation, resource.resource_type, resource.name
    )


def refuse_other_patterns(resource: ResourcePattern) -> None:
    """Raise ``InvalidRequest``, because the pattern of ``resource`` is not LITERAL."""
    raise InvalidRequest(
        f"only LITERAL resources can be authorized, not {resource.pattern_type.name}"
    )


def audit_level(action: Action, result: AuthorizationResult) -> int:
    """The level at which Kafka logs the audit line."""
    if result is ALLOWED:
        return logging.DEBUG if action.log_if_allowed else audit.TRACE
    return INFO if action.log_if_denied else audit.TRACE


def audit_all(
    decisions: DecisionContext,
    context: RequestContext,
    actions: Sequence[Action],
    results: Sequence[AuthorizationResult],
) -> None:
    """Log each decision as Kafka does."""
    if not AUDIT_LOG.isEnabledFor(INFO):
        return
    for action, result in zip(actions, results, strict=True):
        level = audit_level(action, result)
        if AUDIT_LOG.isEnabledFor(level):
            line = audit.format_line(context, action, decision_of(decisions, context, action))
            AUDIT_LOG.log(level, "%s", line, extra=audit.source(context))
