"""The client quotas of a cluster, by entity and quota name.

This module must not know which entity types and quota names Kafka enforces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from metalog.image.state.never_doubtful import NeverDoubtful
from metalog.image.table import EMPTY as EMPTY_TABLE
from metalog.image.table import Table
from metalog.records.messages import ClientQuotaRecord, EntityData

QuotaEntity = tuple[tuple[str, str | None], ...]
"""(entity type, name) pairs, sorted by type; the name None is the default entity (KIP-546)."""

Quotas = Table[str, float]


class ClientQuotasImage(NamedTuple):
    """``entities`` has an entry for each entity with a quota."""

    entities: Table[QuotaEntity, Quotas] = EMPTY_TABLE

    def write(self, metadata_version: int) -> Iterator[tuple[ClientQuotaRecord, int]]:
        for entity in sorted(self.entities, key=_order):
            parts = tuple(EntityData(kind, name) for kind, name in entity)
            for key, value in sorted(self.entities[entity].items()):
                yield ClientQuotaRecord(entity=parts, key=key, value=value, remove=False), 0


EMPTY: Final = ClientQuotasImage()


class ClientQuotasDelta(NeverDoubtful):
    """Changes to a ``ClientQuotasImage``, by entity and quota name; None for a removal."""

    __slots__ = ("changes", "image", "is_replacement")

    def __init__(self, image: ClientQuotasImage, *, is_replacement: bool = False) -> None:
        self.image = image
        self.is_replacement = is_replacement
        self.changes: dict[QuotaEntity, dict[str, float | None]] = {}

    def change(self, record: ClientQuotaRecord) -> None:
        entity = entity_of(record)
        quotas = self.changes.setdefault(entity, {})
        quotas[record.key] = None if record.remove else record.value

    def apply(self) -> ClientQuotasImage:
        base = EMPTY if self.is_replacement else self.image
        quotas = {
            entity: base.entities.get(entity, EMPTY_TABLE).changed(changes) or None
            for entity, changes in self.changes.items()
        }
        return ClientQuotasImage(base.entities.changed(quotas))


def entity_of(record: ClientQuotaRecord) -> QuotaEntity:
    named = {part.entity_type: part.entity_name for part in record.entity}
    return tuple((kind, named[kind]) for kind in sorted(named))


def _order(entity: QuotaEntity) -> tuple[tuple[str, bool, str], ...]:
    return tuple((kind, name is not None, name or "") for kind, name in entity)
