"""Turns requests about SCRAM credentials into records (KIP-554).

The client sends a salted password. ``scram_password`` is for clients that send the password itself
(KIP-506). This module refuses what Kafka 4.3's ScramControlManager and ScramImage refuse, with the
same codes and messages. As in Kafka, a user may occur only once in an ``AlterScramRequest``, even
with two mechanisms.

Pure. The ``repr`` of a request shows no secret. This module must not know connections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from metalog.controller.result import SUCCESS, ApiError, ControllerResult
from metalog.errors import ErrorCode, InvalidRequest
from metalog.image.metadata import MetadataImage
from metalog.image.state.scram import ScramImage, record_of
from metalog.records.messages import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from metalog.records.primitives.text import has_lone_surrogate, text_problem
from metalog.scram import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    MOST_NAME_BYTES,
    MOST_SALT_BYTES,
    ScramMechanism,
    credential_of,
    salted_password,
)

SCRAM_SINCE: Final = 11
"""metadata.version 3.5-IV2, the first with SCRAM records (KIP-900)."""

MECHANISMS: Final[Mapping[int, ScramMechanism]] = {each.value: each for each in ScramMechanism}
"""The code on the wire -> the mechanism."""
_TWICE: Final = ApiError(
    ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
)
_NO_KEY: Final = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
"""The error of an empty salted password, which Java refuses as a key."""
_UNSUPPORTED: Final = ApiError(
    ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM"
)


class ScramDeletion(NamedTuple):
    """A credential to delete; ``mechanism`` is any code on the wire."""

    name: str
    mechanism: int


class ScramUpsertion(NamedTuple):
    """A credential to set; ``salted_password`` is RFC 5802's SaltedPassword."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return (
            f"ScramUpsertion(name={self.name!r}, mechanism={self.mechanism}, "
            f"iterations={self.iterations}, salt=[hidden], salted_password=[hidden])"
        )


def salted_upsertion(
    name: str, mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
) -> ScramUpsertion:
    """A change that sets ``password``, salted as by a KIP-554 client.

    A password is not salted if the controller refuses ``iterations``. ``InvalidRequest`` if the
    password is not Unicode text.
    """
    if has_lone_surrogate(password):
        raise InvalidRequest("the password is not Unicode text")
    is_accepted = MIN_ITERATIONS <= iterations <= MAX_ITERATIONS
    salted = salted_password(mechanism, password, salt, iterations) if is_accepted else b""
    return ScramUpsertion(name, mechanism.value, iterations, salt, salted)


class AlterScramRequest(NamedTuple):
    """KIP-554's request: credentials to delete, and credentials to set."""

    deletions: Sequence[ScramDeletion] = ()
    upsertions: Sequence[ScramUpsertion] = ()


class ScramDescription(NamedTuple):
    """The iterations of one user's credentials, by mechanism; or an error."""

    error: ApiError = SUCCESS
    iterations: Mapping[ScramMechanism, int] = {}


def alter_credentials(
    image: MetadataImage, request: AlterScramRequest
) -> ControllerResult[dict[str, ApiError]]:
    """The records, and one outcome per user, in the order of the request."""
    supported = (image.features.metadata_version or 0) >= SCRAM_SINCE
    results: dict[str, ApiError] = {}
    wanted: dict[str, tuple[Any, int]] = {}
    changes: list[ScramDeletion | ScramUpsertion] = [*request.deletions, *request.upsertions]
    for change in changes:
        if change.name in results:
            if wanted.pop(change.name, None) is not None:
                results[change.name] = _TWICE
            continue
        error = _why_not(image.scram, change) if supported else _UNSUPPORTED
        results[change.name] = error
        if not error:
            wanted[change.name] = (_record_of(change), 0)
    for name in [each.name for each in request.upsertions if not each.salted_password]:
        if wanted.pop(name, None) is not None:
            results[name] = _NO_KEY
    return ControllerResult(list(wanted.values()), results)


def describe_credentials(
    image: ScramImage, users: Sequence[str] | None
) -> dict[str, ScramDescription]:
    """One description per user; if ``users`` is None or empty, of all users, sorted by name."""
    if not users:
        return {
            user: _description(image, user)
            for user in sorted({user for users in image.mechanisms.values() for user in users})
        }
    return {
        user: _description(image, user)
        if count == 1
        else ScramDescription(
            ApiError(
                ErrorCode.DUPLICATE_RESOURCE,
                "Cannot describe SCRAM credentials for the same user twice in a single request: "
                + user,
            )
        )
        for user, count in Counter(users).items()
    }


def name_problem(name: str) -> str | None:
    """Why ``name`` is refused as a user's name, or None."""
    if not name:
        return "Username must not be empty"
    problem = text_problem(name)
    return None if problem is None else f"Username {problem}"


def new_credential_problem(name: str, salt: bytes) -> str | None:
    """Why a new credential with ``name`` and ``salt`` is refused, or None.

    Kafka has fewer limits, so credentials in a log can exceed these limits.
    """
    if problem := name_problem(name):
        return problem
    if "\0" in name:
        return "Username contains NUL, which SCRAM does not allow (RFC 5802)"
    size = len(name.encode())
    if size > MOST_NAME_BYTES:
        return f"Username has {size:,} bytes in UTF-8; at most {MOST_NAME_BYTES:,} are accepted"
    if len(salt) > MOST_SALT_BYTES:
        return f"The salt has {len(salt):,} bytes; at most {MOST_SALT_BYTES:,} are accepted"
    return None


def _why_not(image: ScramImage, change: ScramDeletion | ScramUpsertion) -> ApiError:
    mechanism, name = MECHANISMS.get(change.mechanism), change.name
    problem = name_problem(name)
    if isinstance(change, ScramUpsertion):
        problem = new_credential_problem(name, change.salt)
    if problem:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, problem)
    if mechanism is None:
        return ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, ScramDeletion):
        if image.credential(mechanism, change.name) is None:
            return ApiError(
                ErrorCode.RESOURCE_NOT_FOUND,
                "Attempt to delete a user credential that does not exist",
            )
    elif change.iterations < MIN_ITERATIONS:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    elif change.iterations > MAX_ITERATIONS:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    return SUCCESS


def _record_of(
    change: ScramDeletion | ScramUpsertion,
) -> RemoveUserScramCredentialRecord | UserScramCredentialRecord:
    if isinstance(change, ScramDeletion):
        return RemoveUserScramCredentialRecord(name=change.name, mechanism=change.mechanism)
    mechanism = MECHANISMS[change.mechanism]
    credential = credential_of(mechanism, change.salted_password, change.salt, change.iterations)
    return record_of(change.name, mechanism, credential)


def _description(image: ScramImage, user: str) -> ScramDescription:
    iterations = {
        mechanism: credential.iterations
        for mechanism, users in sorted(image.mechanisms.items())
        if (credential := users.get(user)) is not None
    }
    if iterations:
        return ScramDescription(iterations=iterations)
    return ScramDescription(
        ApiError(
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to describe a user credential that does not exist: " + user,
        )
    )
