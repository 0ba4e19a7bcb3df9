"""The delegation tokens of a cluster, by token id.

This module must not know the current time, nor a token's HMAC. Kafka derives the HMAC from a secret
outside the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from metalog.image.state.never_doubtful import NeverDoubtful
from metalog.image.table import EMPTY as EMPTY_TABLE
from metalog.image.table import Table
from metalog.records.messages import DelegationTokenRecord, RemoveDelegationTokenRecord


class DelegationToken(NamedTuple):
    """One delegation token; principals are ``Type:name``, times are Unix milliseconds."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int


class DelegationTokensImage(NamedTuple):
    tokens: Table[str, DelegationToken] = EMPTY_TABLE

    def write(self, metadata_version: int) -> Iterator[tuple[DelegationTokenRecord, int]]:
        for _, token in sorted(self.tokens.items()):
            yield DelegationTokenRecord(**token._asdict()), 0


EMPTY: Final = DelegationTokensImage()


class DelegationTokensDelta(NeverDoubtful):
    """Changes to a ``DelegationTokensImage``, by token id; None for a removal.

    As in Kafka, the removal of an unknown token changes nothing.
    """

    __slots__ = ("changes", "image", "is_replacement")

    def __init__(self, image: DelegationTokensImage, *, is_replacement: bool = False) -> None:
        self.image = image
        self.is_replacement = is_replacement
        self.changes: dict[str, DelegationToken | None] = {}

    def upsert(self, record: DelegationTokenRecord) -> None:
        self.changes[record.token_id] = DelegationToken(
            token_id=record.token_id,
            owner=record.owner,
            requester=record.requester,
            renewers=tuple(record.renewers),
            issue_timestamp=record.issue_timestamp,
            max_timestamp=record.max_timestamp,
            expiration_timestamp=record.expiration_timestamp,
        )

    def remove(self, record: RemoveDelegationTokenRecord) -> None:
        self.changes[record.token_id] = None

    def apply(self) -> DelegationTokensImage:
        base = EMPTY if self.is_replacement else self.image
        return DelegationTokensImage(base.tokens.changed(self.changes))
