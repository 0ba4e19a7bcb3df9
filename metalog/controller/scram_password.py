"""Turns requests with plain SCRAM passwords (KIP-506) into KIP-554's requests.

Only a super user may send such a request, and only over TLS. A policy checks each password before
this module salts the password. The resulting ``AlterScramRequest``s do not contain the password.

Pure: salts come from the ``entropy`` argument. The ``repr`` of a request shows no password. This
module must not know connections, nor how a policy is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from metalog.controller.scram import (
    MECHANISMS,
    AlterScramRequest,
    ScramDeletion,
    ScramUpsertion,
    salted_upsertion,
)
from metalog.controller.scram_password_config import ScramPasswordConfig
from metalog.errors import SUCCESS, ApiError, ErrorCode
from metalog.grouping import grouped
from metalog.ids import Entropy
from metalog.records.primitives.text import has_lone_surrogate
from metalog.scram import SALT_BYTES, ScramMechanism

_NO_TLS: Final = ApiError(
    ErrorCode.ENCRYPTION_REQUIRED, "SCRAM passwords can be changed over a TLS connection only"
)
_NO_SUPER_USER: Final = ApiError(
    ErrorCode.USER_AUTHORIZATION_FAILED, "Only super users may change SCRAM passwords"
)
_TWICE: Final = ApiError(
    ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
)
_EMPTY: Final = ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Password must not be empty")
_NO_TEXT: Final = ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Password must be Unicode text")
_UNANSWERED: Final = ApiError(
    ErrorCode.UNKNOWN_SERVER_ERROR, "The outcome for this user is unknown"
)


class ScramCredentials(NamedTuple):
    """A credential to set, or, if ``password`` is None, to delete. ``hash_type`` is the code of a
    ``ScramMechanism``."""

    username: str
    hash_type: int
    password: str | None

    def __repr__(self) -> str:
        password = None if self.password is None else "[hidden]"
        return (
            f"ScramCredentials(username={self.username!r}, hash_type={self.hash_type}, "
            f"password={password})"
        )


class ScramPasswordRequest(NamedTuple):
    """KIP-506's request: passwords to set, and credentials to delete."""

    credentials: Sequence[ScramCredentials]


class UserResult(NamedTuple):
    username: str
    error_code: int
    error_message: str | None


class HashResult(NamedTuple):
    hash_type: int
    user_results: Sequence[UserResult]


class ScramPasswordResponse(NamedTuple):
    """One result for each hash type and user in the request."""

    throttle_time_ms: int
    hash_results: Sequence[HashResult]


class ScramPasswordPolicy(Protocol):
    """The interface of the class that ``sasl.scram.password.policy.class`` names."""

    def accept(self, password: str) -> bool:
        """Whether ``password`` may be used. The policy must not store or log it."""
        ...

    def describe(self) -> str:
        """The rule for passwords in one line; users see it in the error."""
        ...


class Caller(NamedTuple):
    """The sender of a request, and the security of the connection."""

    is_encrypted: bool
    is_super_user: bool


class ScramPasswordPlan(NamedTuple):
    """The requests to carry out, and the refused changes.

    A KIP-554 request may name a user only once, so each mechanism has its own request. ``errors``
    has an entry for each hash type and user. SUCCESS means that the outcome depends on
    ``requests``.
    """

    requests: Mapping[ScramMechanism, AlterScramRequest]
    errors: Mapping[tuple[int, str], ApiError]

    def response(
        self, outcomes: Mapping[ScramMechanism, Mapping[str, ApiError]]
    ) -> ScramPasswordResponse:
        """The response, from the outcomes of ``requests``; a missing outcome is an error."""
        results: dict[int, list[UserResult]] = {}
        for (hash_type, username), result in self.errors.items():
            error = result
            if not error:
                carried_out = outcomes.get(MECHANISMS[hash_type], {})
                error = carried_out.get(username, _UNANSWERED)
            results.setdefault(hash_type, []).append(UserResult(username, *error))
        return ScramPasswordResponse(0, [HashResult(*result) for result in results.items()])


def plan_passwords(
    request: ScramPasswordRequest,
    caller: Caller,
    config: ScramPasswordConfig,
    policy: ScramPasswordPolicy | None,
    entropy: Entropy,
) -> ScramPasswordPlan:
    """The plan for ``request``. Salting takes some milliseconds of CPU per password."""
    named = grouped(request.credentials, lambda each: (each.hash_type, each.username))
    errors: dict[tuple[int, str], ApiError] = {}
    changes: dict[ScramMechanism, list[ScramDeletion | ScramUpsertion]] = {}
    for key, credentials in named.items():
        errors[key] = error = _why_not(credentials, caller, config, policy)
        if not error:
            mechanism = MECHANISMS[credentials[0].hash_type]
            changes.setdefault(mechanism, []).append(
                _change(credentials[0], mechanism, config, entropy)
            )
    requests = {mechanism: _request(changed) for mechanism, changed in changes.items()}
    return ScramPasswordPlan(requests, errors)


def _why_not(
    credentials: Sequence[ScramCredentials],
    caller: Caller,
    config: ScramPasswordConfig,
    policy: ScramPasswordPolicy | None,
) -> ApiError:
    password = credentials[0].password
    if not caller.is_encrypted:
        error = _NO_TLS
    elif not caller.is_super_user:
        error = _NO_SUPER_USER
    elif len(credentials) > 1:
        error = _TWICE
    elif MECHANISMS.get(credentials[0].hash_type) not in config.iterations:
        error = _unsupported(credentials[0].hash_type, config)
    elif password == "":
        error = _EMPTY
    elif password is not None and has_lone_surrogate(password):
        error = _NO_TEXT
    else:
        error = SUCCESS if password is None or policy is None else _policy_error(policy, password)
    return error


def _unsupported(hash_type: int, config: ScramPasswordConfig) -> ApiError:
    enabled = ", ".join(f"{each.value} ({each.short_name})" for each in config.iterations)
    return ApiError(
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        f"Passwords cannot be set for hash type {hash_type}; enabled types: {enabled or 'none'}",
    )


def _policy_error(policy: ScramPasswordPolicy, password: str) -> ApiError:
    """The error does not show the policy's exception, which can contain the password."""
    try:
        if policy.accept(password) is True:
            return SUCCESS
        return ApiError(ErrorCode.POLICY_VIOLATION, str(policy.describe()))
    except Exception as error:
        return ApiError(
            ErrorCode.UNKNOWN_SERVER_ERROR, f"The password policy failed: {type(error).__name__}"
        )


def _change(
    credential: ScramCredentials,
    mechanism: ScramMechanism,
    config: ScramPasswordConfig,
    entropy: Entropy,
) -> ScramDeletion | ScramUpsertion:
    if credential.password is None:
        return ScramDeletion(credential.username, mechanism)
    return salted_upsertion(
        credential.username,
        mechanism,
        credential.password,
        entropy(SALT_BYTES),
        config.iterations[mechanism],
    )


def _request(changes: Sequence[ScramDeletion | ScramUpsertion]) -> AlterScramRequest:
    return AlterScramRequest(
        [each for each in changes if isinstance(each, ScramDeletion)],
        [each for each in changes if isinstance(each, ScramUpsertion)],
    )
