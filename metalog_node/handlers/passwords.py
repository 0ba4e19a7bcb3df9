"""Handles ScramPassword (KIP-506), by which super users send passwords to the node over TLS.

``metalog.controller.scram_password`` checks and salts the passwords. Only a salted password goes
to the controller, on this or another node (KIP-554). This module must not keep a password.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from metalog.controller.scram import AlterScramRequest
from metalog.controller.scram_password import (
    Caller,
    ScramCredentials,
    ScramPasswordRequest,
    ScramPasswordResponse,
    plan_passwords,
)
from metalog.errors import ApiError, ErrorCode
from metalog.wire.declared import extensions
from metalog.wire.messages import read_response, write_request
from metalog.wire.schema import Body, request_parts, response_type
from metalog.wire.versions import VersionRange
from metalog_node.handlers.request import (
    NO_THROTTLING,
    Answer,
    HandledApi,
    IncomingRequest,
    Services,
    api_error,
    forwarded_for,
)
from metalog_node.handlers.scram import ALTER_SCRAM

_RESPONSE: Final[Any] = extensions.WireScramPasswordResponse
_HASH: Final[Any] = extensions.WireHashResult
_USER: Final[Any] = extensions.WireUserResult
"""Untyped, because the classes of the library kio have their own number types."""
_LONGEST_WAIT_S: Final = 60
_MOST_PASSWORDS: Final = 1_000


def set_passwords(services: Services, incoming: IncomingRequest) -> Answer:
    """Run on a separate thread, because salting takes some milliseconds per password."""
    return services.passwords.threads.submit(_set_passwords, services, incoming)


def refuse_passwords(incoming: IncomingRequest, error: ApiError) -> Body:
    hashes: dict[int, list[Any]] = {}
    for credential in incoming.request.body.credentials:
        result = _USER(
            username=credential.username, error_code=int(error.code), error_message=error.message
        )
        hashes.setdefault(credential.hash_type, []).append(result)
    return _RESPONSE(
        throttle_time=NO_THROTTLING,
        hash_results=tuple(
            _HASH(hash_type=hash_type, user_results=tuple(results))
            for hash_type, results in hashes.items()
        ),
    )


def _set_passwords(services: Services, incoming: IncomingRequest) -> Body:
    request = ScramPasswordRequest(
        [
            ScramCredentials(credential.username, credential.hash_type, credential.password)
            for credential in incoming.request.body.credentials
        ]
    )
    setting = services.passwords
    caller = Caller(incoming.is_encrypted, _is_super_user(services, incoming))
    plan = plan_passwords(request, caller, setting.config, setting.policy, os.urandom)
    outcomes = {
        mechanism: _altered(services, incoming, changes)
        for mechanism, changes in plan.requests.items()
    }
    return _body(plan.response(outcomes))


def _is_super_user(services: Services, incoming: IncomingRequest) -> bool:
    if services.authorizer is None:
        return True
    return services.authorizer.is_super_user(incoming.context.principal)


def _altered(
    services: Services, incoming: IncomingRequest, request: AlterScramRequest
) -> Mapping[str, ApiError]:
    """Each user's outcome, from this node or from the active controller."""
    try:
        if services.forwarder is None or services.replica.is_active:
            return services.replica.alter_scram(request).result(_LONGEST_WAIT_S)
        salted = write_request(_request(request), 0, None)
        answer = forwarded_for(incoming, services.forwarder, salted)
        body = read_response(answer.result(_LONGEST_WAIT_S), response_type(ALTER_SCRAM, 0))
    except Exception as error:
        named = [deletion.name for deletion in request.deletions]
        named += [upsertion.name for upsertion in request.upsertions]
        return dict.fromkeys(named, api_error(error))
    return {
        result.user: ApiError(_code(int(result.error_code)), result.error_message)
        for result in body.results
    }


def _code(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def _request(request: AlterScramRequest) -> Body:
    parts = request_parts(ALTER_SCRAM, 0)
    return parts.AlterUserScramCredentialsRequest(
        deletions=tuple(
            parts.ScramCredentialDeletion(name=deletion.name, mechanism=int(deletion.mechanism))
            for deletion in request.deletions
        ),
        upsertions=tuple(
            parts.ScramCredentialUpsertion(
                name=upsertion.name,
                mechanism=int(upsertion.mechanism),
                iterations=upsertion.iterations,
                salt=upsertion.salt,
                salted_password=upsertion.salted_password,
            )
            for upsertion in request.upsertions
        ),
    )


def _body(response: ScramPasswordResponse) -> Body:
    return _RESPONSE(
        throttle_time=NO_THROTTLING,
        hash_results=tuple(
            _HASH(
                hash_type=hashed.hash_type,
                user_results=tuple(
                    _USER(
                        username=result.username,
                        error_code=int(result.error_code),
                        error_message=result.error_message,
                    )
                    for result in hashed.user_results
                ),
            )
            for hashed in response.hash_results
        ),
    )


APIS: Final = {
    extensions.SCRAM_PASSWORD: HandledApi(
        "ScramPassword",
        VersionRange(0, 0),
        set_passwords,
        refuse_passwords,
        most_elements=_MOST_PASSWORDS,
    )
}
