"""DescribeUserScramCredentials and AlterUserScramCredentials (KIP-554), to and from the wire.

What may be changed is the controller's to say (``metalog.controller.scram``). No answer holds
a salt or a key. This module must not know how a credential is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from metalog.acl import Operation
from metalog.controller.scram import (
    AlterScramRequest,
    ScramDeletion,
    ScramDescription,
    ScramUpsertion,
    describe_credentials,
)
from metalog.errors import SUCCESS, ApiError
from metalog.wire.schema import Body, response_parts
from metalog_node.handlers.question import (
    NO_THROTTLING,
    Answer,
    Question,
    Refused,
    Services,
    ask,
    error_fields,
    when_done,
)

DESCRIBE_SCRAM: Final = 50
ALTER_SCRAM: Final = 51


def describe(services: Services, question: Question) -> Answer:
    parts = response_parts(DESCRIBE_SCRAM, question.request.head.version)
    asked = question.request.body.users

    def body(error: ApiError, found: Mapping[str, ScramDescription]) -> Body:
        return parts.DescribeUserScramCredentialsResponse(
            throttle_time=NO_THROTTLING,
            **error_fields(error),
            results=tuple(_description(parts, user, each) for user, each in found.items()),
        )

    try:
        ask(services, question, Operation.DESCRIBE)
    except Refused as refused:
        return body(refused.error, {})
    users = None if asked is None else [each.name for each in asked]
    return body(SUCCESS, describe_credentials(services.replica.image.scram, users))


def alter(services: Services, question: Question) -> Answer:
    asked = question.request.body
    parts = response_parts(ALTER_SCRAM, question.request.head.version)
    request = AlterScramRequest(
        [ScramDeletion(each.name, each.mechanism) for each in asked.deletions],
        [
            ScramUpsertion(
                each.name, each.mechanism, each.iterations, each.salt, each.salted_password
            )
            for each in asked.upsertions
        ],
    )

    def body(outcomes: Mapping[str, ApiError]) -> Body:
        return parts.AlterUserScramCredentialsResponse(
            throttle_time=NO_THROTTLING,
            results=tuple(
                parts.AlterUserScramCredentialsResult(user=user, **error_fields(error))
                for user, error in outcomes.items()
            ),
        )

    try:
        ask(services, question, Operation.ALTER)
        done = services.replica.alter_scram(request)
        return when_done([done], lambda results: body(results[0]))
    except Refused as refused:
        named = [each.name for each in (*asked.deletions, *asked.upsertions)]
        return body(dict.fromkeys(named, refused.error))


def _description(parts: Any, user: str, found: ScramDescription) -> Any:
    return parts.DescribeUserScramCredentialsResult(
        user=user,
        **error_fields(found.error),
        credential_infos=tuple(
            parts.CredentialInfo(mechanism=int(mechanism), iterations=iterations)
            for mechanism, iterations in found.iterations.items()
        ),
    )
