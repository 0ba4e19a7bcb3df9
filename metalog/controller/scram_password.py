"""Requests that bring SCRAM passwords themselves (KIP-506), turned into KIP-554's.

A password may come over TLS and from a super user only. It is held against the policy and
salted here, and what is left to carry out no longer has it: ``AlterScramRequest``s, which
``alter_credentials`` carries out here or at the controller that they are forwarded to.
Request and response have the fields of KIP-506's messages.

Pure: salts come from the ``entropy`` that is handed in, and a request shows no password in
its ``repr``. This module must not know connections, nor how a policy is found.
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
from metalog.ids import Entropy
from metalog.records.primitives.text import has_half_pair
from metalog.scram import SALT_BYTES, ScramMechanism

_NO_TLS: Final = ApiError(
    ErrorCode.ENCRYPTION_REQUIRED, "SCRAM passwords can be set over a TLS connection only"
)
_NO_SUPER_USER: Final = ApiError(
    ErrorCode.USER_AUTHORIZATION_FAILED, "Only super users may set SCRAM passwords"
)
_TWICE: Final = ApiError(
    ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
)
_EMPTY: Final = ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Password must not be empty")
_NO_TEXT: Final = ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Password must be Unicode text")
_UNANSWERED: Final = ApiError(
    ErrorCode.UNKNOWN_SERVER_ERROR, "Nothing is known of the outcome for this user"
)


class ScramCredentials(NamedTuple):
    """``hash_type`` is a ``ScramMechanism``'s code; without a ``password`` it is deleted."""

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
    """A result for each hash type and user that was named, in the order of the request."""

    throttle_time_ms: int
    hash_results: Sequence[HashResult]


class ScramPasswordPolicy(Protocol):
    """What ``sasl.scram.password.policy.class`` names."""

    def accept(self, password: str) -> bool:
        """Whether ``password`` may be used; it must not be kept or logged."""
        ...

    def describe(self) -> str:
        """What a password must be, in one line: a part of the error that people get."""
        ...


class Caller(NamedTuple):
    """How the request came, and from whom."""

    is_encrypted: bool
    is_super_user: bool


class ScramPasswordPlan(NamedTuple):
    """What is left to carry out, and the outcomes that are known before.

    ``requests`` has one request a mechanism, since KIP-554 takes a user once in each.
    ``refused`` holds an outcome for every hash type and user that was named, a success
    where the outcome is that of the request.
    """

    requests: Mapping[ScramMechanism, AlterScramRequest]
    refused: Mapping[tuple[int, str], ApiError]

    def response(
        self, outcomes: Mapping[ScramMechanism, Mapping[str, ApiError]]
    ) -> ScramPasswordResponse:
        """The answer, given each request's outcomes by user; one that is missing is an error."""
        results: dict[int, list[UserResult]] = {}
        for (hash_type, username), refusal in self.refused.items():
            error = refusal
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
    """What ``request`` comes to. Salting takes some milliseconds a password."""
    named: dict[tuple[int, str], list[ScramCredentials]] = {}
    for each in request.credentials:
        named.setdefault((each.hash_type, each.username), []).append(each)
    refused: dict[tuple[int, str], ApiError] = {}
    changes: dict[ScramMechanism, list[ScramDeletion | ScramUpsertion]] = {}
    for key, given in named.items():
        refused[key] = error = _why_not(given, caller, config, policy)
        if not error:
            mechanism = MECHANISMS[given[0].hash_type]
            changes.setdefault(mechanism, []).append(_change(given[0], mechanism, config, entropy))
    requests = {mechanism: _request(changed) for mechanism, changed in changes.items()}
    return ScramPasswordPlan(requests, refused)


def _why_not(
    given: Sequence[ScramCredentials],
    caller: Caller,
    config: ScramPasswordConfig,
    policy: ScramPasswordPolicy | None,
) -> ApiError:
    """Why nothing is done of what one user and hash type was ``given``, else a success."""
    password = given[0].password
    if not caller.is_encrypted:
        error = _NO_TLS
    elif not caller.is_super_user:
        error = _NO_SUPER_USER
    elif len(given) > 1:
        error = _TWICE
    elif MECHANISMS.get(given[0].hash_type) not in config.iterations:
        error = _unsupported(given[0].hash_type, config)
    elif password == "":
        error = _EMPTY
    elif password is not None and has_half_pair(password):
        error = _NO_TEXT
    else:
        error = SUCCESS if password is None or policy is None else _judged(policy, password)
    return error


def _unsupported(hash_type: int, config: ScramPasswordConfig) -> ApiError:
    enabled = ", ".join(f"{each.value} ({each.short_name})" for each in config.iterations)
    return ApiError(
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        f"Passwords cannot be set for hash type {hash_type}; those enabled: {enabled or 'none'}",
    )


def _judged(policy: ScramPasswordPolicy, password: str) -> ApiError:
    """Anything but True refuses. What a policy raises is not told: it may quote the password."""
    try:
        if policy.accept(password) is True:
            return SUCCESS
        return ApiError(ErrorCode.POLICY_VIOLATION, str(policy.describe()))
    except Exception as error:
        return ApiError(
            ErrorCode.UNKNOWN_SERVER_ERROR, f"The password policy failed: {type(error).__name__}"
        )


def _change(
    given: ScramCredentials,
    mechanism: ScramMechanism,
    config: ScramPasswordConfig,
    entropy: Entropy,
) -> ScramDeletion | ScramUpsertion:
    if given.password is None:
        return ScramDeletion(given.username, mechanism)
    return salted_upsertion(
        given.username,
        mechanism,
        given.password,
        entropy(SALT_BYTES),
        config.iterations[mechanism],
    )


def _request(changes: Sequence[ScramDeletion | ScramUpsertion]) -> AlterScramRequest:
    return AlterScramRequest(
        [each for each in changes if isinstance(each, ScramDeletion)],
        [each for each in changes if isinstance(each, ScramUpsertion)],
    )
