"""The SCRAM credentials of a cluster, by mechanism and user.

As in Kafka, the removal of an unknown credential changes nothing. If one delta has upserts and
removals for a mechanism without users, Kafka can lose the upserts. This module keeps the upserts.

This module must not know SCRAM's maths, nor where records come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from metalog.errors import CorruptLog
from metalog.image.table import EMPTY as EMPTY_TABLE
from metalog.image.table import Table
from metalog.records.messages import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from metalog.records.primitives.text import NOT_UTF8, REPLACEMENT
from metalog.scram import ScramCredential, ScramMechanism

Credentials = Table[str, ScramCredential]
_Record = UserScramCredentialRecord | RemoveUserScramCredentialRecord


def why_doubtful(record: _Record) -> str | None:
    """Why ``record`` perhaps does not mean what it seems to mean, or None."""
    return NOT_UTF8 if REPLACEMENT in record.name else None


def record_of(
    user: str, mechanism: ScramMechanism, credential: ScramCredential
) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name=user,
        mechanism=mechanism.value,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


class ScramImage(NamedTuple):
    """``mechanisms`` has an entry for each mechanism in use."""

    mechanisms: Mapping[ScramMechanism, Credentials] = EMPTY_TABLE

    def credential(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        return self.mechanisms.get(mechanism, EMPTY_TABLE).get(user)

    def write(self, metadata_version: int) -> Iterator[tuple[UserScramCredentialRecord, int]]:
        for mechanism, users in sorted(self.mechanisms.items()):
            for user, credential in sorted(users.items()):
                yield record_of(user, mechanism, credential), 0


EMPTY: Final = ScramImage()


class ScramDelta:
    """Changes to a ``ScramImage``, by mechanism and user; None for a removal.

    ``doubtful`` counts the applied records whose user name was perhaps not valid UTF-8.
    """

    __slots__ = ("changes", "doubtful", "image", "is_replacement")

    def __init__(self, image: ScramImage, *, is_replacement: bool = False) -> None:
        self.image = image
        self.is_replacement = is_replacement
        self.changes: dict[ScramMechanism, dict[str, ScramCredential | None]] = {}
        self.doubtful = 0

    def upsert(self, record: UserScramCredentialRecord) -> None:
        self._changes_by_user(record)[record.name] = ScramCredential(
            record.salt, record.stored_key, record.server_key, record.iterations
        )

    def remove(self, record: RemoveUserScramCredentialRecord) -> None:
        self._changes_by_user(record)[record.name] = None

    def finish_snapshot(self) -> None:
        for mechanism, users in self.image.mechanisms.items():
            changes = self.changes.setdefault(mechanism, {})
            for user in users:
                changes.setdefault(user, None)

    def apply(self) -> ScramImage:
        base = EMPTY if self.is_replacement else self.image
        mechanisms = dict(base.mechanisms)
        for mechanism, changes in self.changes.items():
            users = mechanisms.get(mechanism, EMPTY_TABLE).changed(changes)
            if users:
                mechanisms[mechanism] = users
            else:
                mechanisms.pop(mechanism, None)
        return ScramImage(Table(mechanisms.items()))

    def _changes_by_user(self, record: _Record) -> dict[str, ScramCredential | None]:
        code = record.mechanism
        try:
            mechanism = ScramMechanism(code)
        except ValueError:
            raise CorruptLog(f"has SCRAM mechanism {code}, which Kafka 4.3 does not have") from None
        if REPLACEMENT in record.name:
            self.doubtful += 1
        return self.changes.setdefault(mechanism, {})
