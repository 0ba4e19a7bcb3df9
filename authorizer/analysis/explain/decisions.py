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
    """Explain what ``authorizer`` decides at this moment; it writes no audit line.

    One pass over all ACLs: for people and tests, not for each request.

    Args:
        authorizer: the authorizer; a load that is not complete does not matter here.
        context: the principal and the host of the request.
        action: the operation and the resource.

    Returns:
        The decision with the ACLs considered for it, the ACLs that nearly match, and the
        smallest changes that turn the answer. ``since`` is None: an authorizer has no history.
    """
    question = Question(
        context.principal,
        action.operation,
        action.resource.resource_type,
        action.resource.name,
        context.host,
        tuple(context.additional_principals),
    )
    return explain(authorizer.acls(), authorizer.config, question)
