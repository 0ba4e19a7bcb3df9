"""The ACLs of a cluster: id to ACL, and ACL to ids.

An ACL can have several ids, for example if a client repeats a request after a failover.

Kafka 4.3.1 and this module treat three odd records as follows:

- A record adds an id that exists. This module and Kafka's image replace the old ACL. Kafka's
  authorizer keeps the old ACL ("An ACL with ID … already exists").
- A record removes an unknown id. This module and Kafka's image refuse the record ("Failed to find
  existing ACL …"). Kafka's loader goes on with the next record; a strict loader of this project
  stops.
- A record gives an ACL a second id. This module and Kafka's image keep both ids. Kafka's authorizer
  refuses the second id, or the whole snapshot with both.

This module must not know what an ACL allows, nor where records come from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from metalog.acl import Acl
from metalog.errors import CorruptLog
from metalog.ids import Uuid, bytes_in_order, in_order, uuid_text
from metalog.image.table import EMPTY as EMPTY_TABLE
from metalog.image.table import Table
from metalog.records.acl_codes import acl_of, can_be_acl, record_of
from metalog.records.acl_fast_encode import ID_AT, acl_values
from metalog.records.fast_decode.acl_fast_decode import AclRun
from metalog.records.messages.access_control_entry_record import AccessControlEntryRecord
from metalog.records.messages.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from metalog.records.primitives.text import NOT_UTF8, REPLACEMENT

Ids = tuple[Uuid, ...]


def why_doubtful(record: AccessControlEntryRecord) -> str | None:
    """Why ``record`` perhaps does not mean what it seems to mean, or None.

    Kafka silently reads an unknown code as UNKNOWN, and bytes that are not UTF-8 as U+FFFD. A DENY
    with such a code or text can fail to deny.
    """
    if not can_be_acl(record):
        codes = record.resource_type, record.pattern_type, record.operation, record.permission_type
        return (
            "has a resource type, pattern type, operation or permission that no ACL of "
            f"Kafka 4.3 has (codes {codes[0]}, {codes[1]}, {codes[2]}, {codes[3]})"
        )
    texts = record.resource_name, record.principal, record.host
    return NOT_UTF8 if any(REPLACEMENT in text for text in texts) else None


class AclsImage:
    """All ACLs at one offset, immutable. ``by_id`` maps an id to its ACL; ``len()`` counts ids."""

    __slots__ = ("_by_id", "_ids")

    def __init__(
        self, by_id: Table[Uuid, Acl] = EMPTY_TABLE, ids: Table[Acl, Uuid | Ids] | None = None
    ) -> None:
        self._by_id = by_id
        self._ids = ids

    @property
    def by_id(self) -> Table[Uuid, Acl]:
        return self._by_id

    def __len__(self) -> int:
        return len(self.by_id)

    def ids(self, acl: Acl) -> Ids:
        """The ids of ``acl``, lowest first; empty if the ACL is unknown."""
        found = self._ids_by_acl().get(acl, ())
        return (Uuid(found),) if isinstance(found, bytes) else found

    def write(self, metadata_version: int) -> Iterator[tuple[AccessControlEntryRecord, int]]:
        """The records of a snapshot with their versions, by id."""
        for uuid, acl in in_order(self.by_id.items()):
            yield record_of(uuid, acl), 0

    def write_values(self) -> Iterator[bytes]:
        """The encoded records of ``write``.

        The table's order is fast to encode, because it is nearly the order in memory. All values
        have the same bytes before the id, so a sort of the values is a sort by id.
        """
        return bytes_in_order(acl_values(self.by_id.items()), ID_AT)

    def as_run(self) -> AclRun:
        """All ids and ACLs as one run, without copies of the ACLs."""
        return AclRun(list(self.by_id), list(self.by_id.values()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AclsImage) and self.by_id == other.by_id

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<AclsImage of {len(self)}>"

    def _ids_by_acl(self) -> Table[Acl, Uuid | Ids]:
        if self._ids is None:
            ids: Table[Acl, Uuid | Ids] = Table((acl, uuid) for uuid, acl in self.by_id.items())
            if len(ids) < len(self.by_id):
                ids = ids.changed(_repeated(self.by_id))
            self._ids = ids
        return self._ids

    def _changed(self, changes: dict[Uuid, Acl | None]) -> AclsImage:
        by_id = self.by_id.changed(changes)
        if self._ids is None:
            return AclsImage(by_id)
        by_acl: dict[Acl, set[Uuid]] = {}
        for uuid, acl in changes.items():
            before = self.by_id.get(uuid)
            if before is not None:
                by_acl.setdefault(before, set(self.ids(before))).discard(uuid)
            if acl is not None:
                by_acl.setdefault(acl, set(self.ids(acl))).add(uuid)
        return AclsImage(
            by_id, self._ids.changed({acl: _packed(uuids) for acl, uuids in by_acl.items()})
        )


def _repeated(by_id: Table[Uuid, Acl]) -> dict[Acl, Uuid | Ids | None]:
    by_acl: dict[Acl, list[Uuid]] = {}
    for uuid, acl in by_id.items():
        by_acl.setdefault(acl, []).append(uuid)
    return {acl: _packed(ids) for acl, ids in by_acl.items() if len(ids) > 1}


def _packed(ids: set[Uuid] | list[Uuid]) -> Uuid | Ids | None:
    ordered = tuple(sorted(ids))
    return ordered if len(ordered) > 1 else ordered[0] if ordered else None


EMPTY: Final = AclsImage()


class AclsDelta:
    """Changes to an ``AclsImage``, from records or (``is_replacement``) a whole snapshot."""

    __slots__ = (
        "_added",
        "_changes",
        "_gone",
        "_is_shared",
        "_whole",
        "doubtful",
        "image",
        "is_replacement",
    )

    def __init__(self, image: AclsImage, *, is_replacement: bool = False) -> None:
        self.image = image
        self.is_replacement = is_replacement
        self.doubtful = 0
        self._changes: dict[Uuid, Acl | None] = {}
        self._gone: dict[Uuid, Acl | None] = {}
        self._added: list[Acl] = []
        self._whole: dict[Uuid, Acl] | None = {} if is_replacement or not image else None
        self._is_shared = False

    @property
    def changes(self) -> Mapping[Uuid, Acl | None]:
        """The net changes to ``image``, by id; None for a removal.

        A replacement has all ACLs of the new image, also the unchanged ones, and then the removals.
        """
        if self._whole is None:
            return self._changes
        return {**self._whole, **self._gone} if self._gone else self._whole

    def add(self, record: AccessControlEntryRecord) -> None:
        if why_doubtful(record) is not None:
            self.doubtful += 1
        self.add_run(AclRun([record.id], [acl_of(record)]))

    def add_run(self, run: AclRun) -> None:
        added = zip(run.ids, run.acls, strict=True)
        whole = self._own_whole()
        if whole is None:
            self._changes.update(added)
        else:
            whole.update(added)
            self._added += run.acls

    def in_record_order(self, after: AclsImage) -> Collection[Acl]:
        """The ACLs of ``after``, the image after this delta. An ACL with two ids occurs twice.

        If this delta added all of them, the result has the order of the records. This is also the
        order in memory, so iteration takes half the time.
        """
        return self._added if len(self._added) == len(after) else after.by_id.values()

    def remove(self, record: RemoveAccessControlEntryRecord) -> None:
        uuid = record.id
        whole = self._own_whole()
        if whole is not None:
            was_there = whole.pop(uuid, None) is not None
        else:
            before = self.image.by_id.get(uuid)
            was_there = self._changes.get(uuid, before) is not None
            if was_there and before is None:
                del self._changes[uuid]
            elif was_there:
                self._changes[uuid] = None
        if not was_there:
            raise CorruptLog(
                f"removes the ACL {uuid_text(uuid)}, which does not exist",
                advice="earlier records are missing, or two records remove it; take another copy",
            )

    def finish_snapshot(self) -> None:
        now = self.changes
        self._gone = {uuid: None for uuid in self.image.by_id if uuid not in now}

    def apply(self) -> AclsImage:
        if self._whole is None:
            return self.image._changed(self._changes)
        self._is_shared = True
        return AclsImage(Table.owning(self._whole))

    def _own_whole(self) -> dict[Uuid, Acl] | None:
        """``_whole``, which is copied first if an image shares it."""
        if self._is_shared and self._whole is not None:
            self._whole, self._is_shared = self._whole.copy(), False
        return self._whole
