"""DescribeUserScramCredentials and AlterUserScramCredentials (KIP-554) as a client sends them.

A cluster lists a user's mechanisms and iterations, but never sends credentials. A client sends only
the salted password. This module must not know where a password comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from metalog.errors import ErrorCode
from metalog.scram import ScramMechanism, salted_password
from metalog.wire.outcome import ApiOutcome, first_failure, outcome_of
from metalog.wire.schema import Body, request_parts

DESCRIBE_SCRAM: Final = 50
ALTER_SCRAM: Final = 51
VERSIONS: Final = range(1)

_MECHANISMS: Final = {int(each): each for each in ScramMechanism}


class DescribedUsers(NamedTuple):
    """The iterations of each credential, by user and mechanism, without unknown mechanisms."""

    outcome: ApiOutcome
    users: Mapping[str, Mapping[ScramMechanism, int]]


class NewCredential(NamedTuple):
    """A credential to set; ``repr`` hides the password."""

    user: str
    mechanism: ScramMechanism
    password: str
    salt: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"NewCredential(user={self.user!r}, mechanism={self.mechanism!r}, [hidden])"


def describe_users_request(version: int, users: Sequence[str] | None = None) -> Body:
    """A request about ``users``, or about all users."""
    parts = request_parts(DESCRIBE_SCRAM, version)
    named = None if users is None else tuple(parts.UserName(name=each) for each in users)
    return parts.DescribeUserScramCredentialsRequest(users=named)


def read_described_users(body: Body) -> DescribedUsers:
    """The users in a response; a user without credentials is left out."""
    outcomes = [outcome_of(body), *map(outcome_of, body.results)]
    outcome = first_failure(each for each in outcomes if each.code != ErrorCode.RESOURCE_NOT_FOUND)
    return DescribedUsers(
        outcome,
        {
            result.user: {
                _MECHANISMS[info.mechanism]: info.iterations
                for info in result.credential_infos
                if info.mechanism in _MECHANISMS
            }
            for result in body.results
            if result.error_code == ErrorCode.NONE
        },
    )


def set_credential_request(version: int, wanted: NewCredential) -> Body:
    parts = request_parts(ALTER_SCRAM, version)
    user, mechanism, password, salt, iterations = wanted
    upsertion = parts.ScramCredentialUpsertion(
        name=user,
        mechanism=int(mechanism),
        iterations=iterations,
        salt=salt,
        salted_password=salted_password(mechanism, password, salt, iterations),
    )
    return parts.AlterUserScramCredentialsRequest(deletions=(), upsertions=(upsertion,))


def delete_credential_request(version: int, user: str, mechanism: ScramMechanism) -> Body:
    parts = request_parts(ALTER_SCRAM, version)
    deletion = parts.ScramCredentialDeletion(name=user, mechanism=int(mechanism))
    return parts.AlterUserScramCredentialsRequest(deletions=(deletion,), upsertions=())


def read_altered_users(body: Body) -> list[ApiOutcome]:
    return [outcome_of(result) for result in body.results]
