"""Explains a decision to the program that embeds the authorizer.

This module must not know how an explanation is shown.
"""

from __future__ import annotations

from authorizer.analysis.explain.explain import Explanation, explain
from authorizer.api import Action, RequestContext
from authorizer.standard import StandardAuthorizer
from authorizer.trace import Question


def explain_decision(
    authorizer: StandardAuthorizer, context: RequestContext, action: Action
) -> Explanation:
    """Explain the present decision of ``authorizer``, without an audit line.

    This function also works while the gate is shut. Because it scans all ACLs, it is for people and
    tests, not for each request. ``since`` is None, because an authorizer has no history.
    """
    question = Question(
        context.principal,
        action.operation,
        action.resource.resource_type,
        action.resource.name,
        context.host,
        context.additional_principals,
    )
    return explain(authorizer.acls(), authorizer.config, question)
