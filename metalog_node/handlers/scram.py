"""Handles DescribeUserScramCredentials and AlterUserScramCredentials (KIP-554).

``metalog.controller.scram`` decides which changes are allowed. No response contains a salt or a
key. This module must not know how a credential is stored.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Any, Final

from metalog.acl import Operation
from metalog.controller.scram import (
    AlterScramRequest,
    ScramDeletion,
    ScramDescription,
    ScramUpsertion,
    describe_credentials,
)
from metalog.controller.scram_password_config import SALTED_ENABLE
from metalog.errors import SUCCESS, ApiError, ErrorCode, InvalidRequest
from metalog.wire.schema import Body, response_parts
from metalog.wire.versions import VersionRange
from metalog_node.handlers.request import (
    NO_THROTTLING,
    Answer,
    DeferredResponse,
    HandledApi,
    IncomingRequest,
    Services,
    authorize_cluster,
    authorize_listing,
    error_fields,
    outcome_fields,
)

_log = logging.getLogger(__name__)

DESCRIBE_SCRAM: Final = 50
ALTER_SCRAM: Final = 51
_SHOWN_CHARACTERS: Final = 100
_SHOWN_USERS: Final = 3


def describe(services: Services, incoming: IncomingRequest) -> Answer:
    authorize_listing(services, incoming)
    named = incoming.request.body.users
    users = None if named is None else [user.name for user in named]
    descriptions = describe_credentials(services.replica.image.scram, users)
    return _described(incoming, SUCCESS, descriptions)


def refuse_describe(incoming: IncomingRequest, error: ApiError) -> Body:
    return _described(incoming, error, {})


class SaltedPasswordsDisabled(InvalidRequest):
    """The configuration refuses salted passwords, because no policy can check them."""

    code = ErrorCode.POLICY_VIOLATION


def check_salted(services: Services, incoming: IncomingRequest) -> None:
    if incoming.request.body.upsertions and not services.passwords.config.takes_salted:
        raise SaltedPasswordsDisabled(
            f"Salted passwords are disabled ({SALTED_ENABLE}=false): send the password "
            "itself over TLS, by metalog passwd without --iterations"
        )


def log_unchecked(services: Services, incoming: IncomingRequest, refused: Collection[str]) -> None:
    """Log the users whose password was set without a check by the node's policy."""
    if services.passwords.policy is None or incoming.is_forwarded:
        return
    users = [
        upsertion.name
        for upsertion in incoming.request.body.upsertions
        if upsertion.name not in refused
    ]
    if users:
        shown = ", ".join(repr(user[:_SHOWN_CHARACTERS]) for user in users[:_SHOWN_USERS])
        more = f" and {len(users) - _SHOWN_USERS} more" if len(users) > _SHOWN_USERS else ""
        _log.warning(
            "%s set a salted password of %s%s, which the password policy could not check; "
            "%s=false refuses salted passwords",
            incoming.context.principal,
            shown,
            more,
            SALTED_ENABLE,
        )


def alter(services: Services, incoming: IncomingRequest) -> Answer:
    authorize_cluster(services, incoming, Operation.ALTER)
    if not incoming.is_forwarded:
        check_salted(services, incoming)
    body = incoming.request.body
    request = AlterScramRequest(
        [ScramDeletion(deletion.name, deletion.mechanism) for deletion in body.deletions],
        [
            ScramUpsertion(
                upsertion.name,
                upsertion.mechanism,
                upsertion.iterations,
                upsertion.salt,
                upsertion.salted_password,
            )
            for upsertion in body.upsertions
        ],
    )

    def answered(altered: Future[dict[str, ApiError]]) -> Body:
        outcomes = altered.result()
        log_unchecked(services, incoming, [user for user, error in outcomes.items() if error])
        return _altered(incoming, outcomes)

    return DeferredResponse(services.replica.alter_scram(request), answered)


def refuse_alter(incoming: IncomingRequest, error: ApiError) -> Body:
    body = incoming.request.body
    named = [change.name for change in (*body.deletions, *body.upsertions)]
    return _altered(incoming, dict.fromkeys(named, error))


def _described(
    incoming: IncomingRequest, error: ApiError, descriptions: Mapping[str, ScramDescription]
) -> Body:
    parts = response_parts(DESCRIBE_SCRAM, incoming.request.head.version)
    return parts.DescribeUserScramCredentialsResponse(
        throttle_time=NO_THROTTLING,
        **outcome_fields(error),
        results=tuple(
            _description(parts, user, description) for user, description in descriptions.items()
        ),
    )


def _altered(incoming: IncomingRequest, outcomes: Mapping[str, ApiError]) -> Body:
    parts = response_parts(ALTER_SCRAM, incoming.request.head.version)
    return parts.AlterUserScramCredentialsResponse(
        throttle_time=NO_THROTTLING,
        results=tuple(
            parts.AlterUserScramCredentialsResult(user=user, **error_fields(error))
            for user, error in outcomes.items()
        ),
    )


def _description(parts: Any, user: str, description: ScramDescription) -> Any:
    return parts.DescribeUserScramCredentialsResult(
        user=user,
        **outcome_fields(description.error),
        credential_infos=tuple(
            parts.CredentialInfo(mechanism=int(mechanism), iterations=iterations)
            for mechanism, iterations in description.iterations.items()
        ),
    )


APIS: Final = {
    DESCRIBE_SCRAM: HandledApi(
        "DescribeUserScramCredentials",
        VersionRange(0, 0),
        describe,
        refuse_describe,
        most_bytes_on_loop=0,
    ),
    ALTER_SCRAM: HandledApi("AlterUserScramCredentials", VersionRange(0, 0), alter, refuse_alter),
}
