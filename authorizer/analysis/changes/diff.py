"""Compares two states: the ACLs, without their ids, and the SCRAM users.

The result has the iterations of a changed credential, without salt and keys. This module must not
know where the states come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from metalog.acl import Acl, java_order
from metalog.scram import ScramCredential, ScramMechanism

Users = Mapping[tuple[str, ScramMechanism], ScramCredential]


class UserDifference(NamedTuple):
    """A changed credential: its iterations ``before`` and ``after``, None without a credential.

    Both numbers are equal if only salt and keys changed, for example with a new password.
    """

    user: str
    mechanism: ScramMechanism
    before: int | None
    after: int | None


class Difference(NamedTuple):
    added: frozenset[Acl]
    removed: frozenset[Acl]
    users: tuple[UserDifference, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed or self.users)


def difference(
    acls: Iterable[Acl], other_acls: Iterable[Acl], users: Users, other_users: Users
) -> Difference:
    """The changes that turn the first state into the other one.

    If a credential has no salt, as in some files, only the iterations are compared.
    """
    before, after = frozenset(acls), frozenset(other_acls)
    changes = [
        UserDifference(*key, _iterations(users.get(key)), _iterations(other_users.get(key)))
        for key in sorted({*users, *other_users}, key=lambda key: (java_order(key[0]), key[1]))
        if _differ(users.get(key), other_users.get(key))
    ]
    return Difference(after - before, before - after, tuple(changes))


def _iterations(credential: ScramCredential | None) -> int | None:
    return None if credential is None else credential.iterations


def _differ(one: ScramCredential | None, other: ScramCredential | None) -> bool:
    if one is None or other is None or (one.salt and other.salt):
        return one != other
    return one.iterations != other.iterations
