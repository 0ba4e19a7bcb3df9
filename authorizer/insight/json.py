"""The JSON form of an explanation, with the keys that DESIGN section 8 names.

It must not know how the lines are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from authorizer.insight.explain import Explanation
from authorizer.insight.near_misses import NearMiss
from authorizer.insight.remedies import Remedy
from metalog.acl import Acl
from metalog.ids import Uuid, uuid_text

Json = dict[str, Any]
IdOf = Callable[[Acl], Uuid | None]
"""An id under which the log holds an ACL; None for one that it does not hold."""


def to_json(explanation: Explanation, id_of: IdOf = lambda acl: None) -> Json:
    """``explanation`` as one JSON object; ACLs carry their id where ``id_of`` knows it."""
    question, traced = explanation.question, explanation.trace
    since = explanation.since
    return {
        "principal": question.principal,
        "host": question.host,
        "operation": question.operation.name,
        "resourceType": question.resource_type.name,
        "resourceName": question.resource_name,
        "result": traced.decision.result.value,
        "rule": traced.decision.rule,
        "acl": _acl(traced.decision.acl, id_of),
        "assumed": list(explanation.assumed),
        "candidates": [
            {
                "acl": _acl(each.acl, id_of),
                "standing": each.standing.value,
                "mismatches": [attribute.value for attribute in each.mismatches],
            }
            for each in traced.candidates
        ],
        "nearMisses": [_near_miss(miss, id_of) for miss in explanation.near_misses],
        "remedies": [_remedy(remedy, id_of) for remedy in explanation.remedies],
        "since": None
        if since is None
        else {
            "offset": since.offset,
            "cause": since.cause.value,
            "acl": _acl(since.acl, id_of),
        },
        "hosts": [
            {
                "host": answer.host,
                "result": _result(answer.allowed),
                "acl": _acl(answer.acl, id_of),
            }
            for answer in explanation.hosts
        ],
    }


def _result(allowed: bool) -> str:
    return "ALLOWED" if allowed else "DENIED"


def _near_miss(miss: NearMiss, id_of: IdOf) -> Json:
    return {
        "kind": miss.kind.value,
        "attribute": None if miss.attribute is None else miss.attribute.value,
        "acl": _acl(miss.acl, id_of),
        "wouldMatch": _acl(miss.would_match, id_of),
        "deny": _acl(miss.deny, id_of),
    }


def _remedy(remedy: Remedy, id_of: IdOf) -> Json:
    commands = remedy.commands
    return {
        "add": [_acl(acl, id_of) for acl in remedy.add],
        "remove": [_acl(acl, id_of) for acl in remedy.remove],
        "commands": None if commands is None else list(commands),
        "widens": [attribute.value for attribute in remedy.widens],
        "endsDefault": remedy.ends_default,
        "mends": None if remedy.mends is None else remedy.mends.kind.value,
    }


def _acl(acl: Acl | None, id_of: IdOf) -> Json | None:
    if acl is None:
        return None
    uuid = id_of(acl)
    return {
        "id": None if uuid is None else uuid_text(uuid),
        "resourceType": acl.resource_type.name,
        "resourceName": acl.resource_name,
        "patternType": acl.pattern_type.name,
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation.name,
        "permissionType": acl.permission_type.name,
    }
