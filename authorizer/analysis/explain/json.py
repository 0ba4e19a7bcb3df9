"""The JSON form of an explanation.

Keys can be added, but must not be removed or renamed. This module must not know where the JSON is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from authorizer.kafka_version import KafkaVersion
from metalog.acl import Acl, acl_fields
from metalog.ids import Uuid, uuid_text

if TYPE_CHECKING:
    from authorizer.analysis.explain.explain import Explanation
    from authorizer.analysis.explain.near_misses import NearMiss
    from authorizer.analysis.remedies.remedies import Remedy
    from authorizer.engine.decide import Decision
    from authorizer.trace import Question

Json = dict[str, Any]
IdOf = Callable[[Acl], Uuid | None]
"""Returns an id of an ACL in the log; None if the log does not have the ACL."""
Commands = tuple[str, ...] | None


def acl_json(acl: Acl, id_of: IdOf) -> Json:
    """The ACL with its id, or with None if the ACL has no id."""
    uuid = id_of(acl)
    return {"id": None if uuid is None else uuid_text(uuid), **acl_fields(acl)}


def answer_json(
    question: Question, decision: Decision, kafka: KafkaVersion, assumed: Iterable[str], id_of: IdOf
) -> Json:
    """The keys that the JSON of every decision has."""
    return {
        "principal": question.principal,
        "host": question.host,
        "operation": question.operation.name,
        "resourceType": question.resource_type.name,
        "resourceName": question.resource_name,
        "result": decision.result.value,
        "rule": decision.rule,
        "acl": _optional(decision.acl, id_of),
        "kafkaVersion": kafka.value,
        "assumed": list(assumed),
    }


def commands_json(commands: Commands) -> Json:
    """A remedy's ``commands`` as JSON; a shell variable stands for the cluster's address."""
    return {"commands": None if commands is None else list(commands)}


def to_json(
    explanation: Explanation,
    id_of: IdOf = lambda acl: None,
    as_commands: Callable[[Commands], Json] = commands_json,
) -> Json:
    """``explanation`` as one JSON object; ``as_commands`` converts a remedy's commands."""
    traced, since = explanation.trace, explanation.since
    answer = answer_json(
        explanation.question, traced.decision, explanation.kafka, explanation.assumed, id_of
    )
    return answer | {
        "candidates": [
            {
                "acl": acl_json(each.acl, id_of),
                "standing": each.standing.value,
                "mismatches": [attribute.value for attribute in each.mismatches],
            }
            for each in traced.candidates
        ],
        "nearMisses": [_near_miss(miss, id_of) for miss in explanation.near_misses],
        "remedies": [remedy_json(remedy, id_of, as_commands) for remedy in explanation.remedies],
        "since": None
        if since is None
        else {
            "at": since.at,
            "offset": since.offset,
            "cause": since.cause.value,
            "acl": _optional(since.acl, id_of),
        },
        "hosts": [
            {
                "host": each.host,
                "result": "ALLOWED" if each.allowed else "DENIED",
                "acl": acl_json(each.acl, id_of),
            }
            for each in explanation.hosts
        ],
    }


def _optional(acl: Acl | None, id_of: IdOf) -> Json | None:
    return None if acl is None else acl_json(acl, id_of)


def _near_miss(miss: NearMiss, id_of: IdOf) -> Json:
    return {
        "kind": miss.kind.value,
        "attribute": None if miss.attribute is None else miss.attribute.value,
        "acl": acl_json(miss.acl, id_of),
        "wouldMatch": _optional(miss.would_match, id_of),
        "deny": _optional(miss.deny, id_of),
    }


def remedy_json(
    remedy: Remedy, id_of: IdOf, as_commands: Callable[[Commands], Json] = commands_json
) -> Json:
    """``remedy`` as JSON.

    ``use``: a client whose DESCRIBE was denied needs this operation next; the remedy allows both.
    ``powers`` are sentences that say why the granted rights are dangerous.
    """
    return {
        "add": [acl_json(acl, id_of) for acl in remedy.add],
        "remove": [acl_json(acl, id_of) for acl in remedy.remove],
        **as_commands(remedy.commands),
        "widens": [attribute.value for attribute in remedy.widens],
        "endsDefault": remedy.ends_default,
        "use": None if remedy.use is None else remedy.use.name,
        "powers": list(remedy.powers),
        "mends": None if remedy.mends is None else remedy.mends.kind.value,
    }
