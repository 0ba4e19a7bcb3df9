"""The ACLs of a cluster: id to ACL, and ACL to ids.

Kafka binds every ACL to an id and keys everything by it. A log may bind the same ACL
to several ids (a client that retries after a failover does it), so the way back,
``AclsImage.ids``, gives a tuple. That way back is built when first asked for and kept
up to date from then on: a reader that never asks does not pay for it.

What we do beside what Kafka 4.3.1 does, where a log is odd:

- An id that is there is added again: its ACL is replaced. So does Kafka's image; its
  authorizer refuses ("An ACL with ID … already exists") and keeps the old one.
- An id that is not there is removed: refused. So does Kafka's image ("Failed to find
  existing ACL …"), after which its loader goes on with the next record; ours stops,
  unless it is tolerant.
- An ACL gets a second id: both stay, and it is gone when both are. Kafka's image agrees;
  its authorizer refuses the second, and where that is in a snapshot, the whole of it.

This module must not know what an ACL allows, nor where records come from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from metalog.acl import Acl
from metalog.errors import CorruptLog
from metalog.ids import Uuid, uuid_text
from metalog.image.doubt import NOT_UTF8
from metalog.image.table import EMPTY as EMPTY_TABLE
from metalog.image.table import Table
from metalog.records.acl_codes import acl_of, can_be_bound, record_of
from metalog.records.acl_fast_decode import AclRun
from metalog.records.messages.access_control_entry_record import AccessControlEntryRecord
from metalog.records.messages.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from metalog.records.primitives.text import REPLACEMENT

Ids = tuple[Uuid, ...]


def may_mislead(record: AccessControlEntryRecord) -> str | None:
    """Why ``record`` may not mean what it seems to, or None.

    Kafka reads a code that it does not know as UNKNOWN and bytes that are not UTF-8 as
    U+FFFD, silently: a DENY may so miss what it was meant for.
    """
    if not can_be_bound(record):
        codes = record.resource_type, record.pattern_type, record.operation, record.permission_type
        return (
            "has a resource type, pattern type, operation or permission that no ACL of "
            f"Kafka 4.3 has (codes {codes[0]}, {codes[1]}, {codes[2]}, {codes[3]})"
        )
    texts = record.resource_name, record.principal, record.host
    return NOT_UTF8 if any(REPLACEMENT in text for text in texts) else None


class AclsImage:
    """Immutable. ``by_id`` has every binding; ``len()`` counts ids."""

    __slots__ = ("_by_id", "_ids")

    def __init__(
        self,
        by_id: Table[Uuid, Acl] = EMPTY_TABLE,
        ids: Table[Acl, Uuid | Ids] | None = None,
    ) -> None:
        self._by_id = by_id
        self._ids = ids

    @property
    def by_id(self) -> Table[Uuid, Acl]:
        return self._by_id

    def __len__(self) -> int:
        return len(self.by_id)

    def ids(self, acl: Acl) -> Ids:
        """The ids that ``acl`` is bound to, lowest first; empty if it is not there."""
        found = self._ids_by_acl().get(acl, ())
        return (Uuid(found),) if isinstance(found, bytes) else found

    def write(self, metadata_version: int) -> Iterator[tuple[AccessControlEntryRecord, int]]:
        """Snapshot records with their versions, in the order of their ids."""
        for uuid, acl in sorted(self.by_id.items()):
            yield record_of(uuid, acl), 0

    def as_run(self) -> AclRun:
        """All of it, for a delta that is to hold these very objects."""
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
        bound: dict[Acl, set[Uuid]] = {}
        for uuid, acl in changes.items():
            before = self.by_id.get(uuid)
            if before is not None:
                bound.setdefault(before, set(self.ids(before))).discard(uuid)
            if acl is not None:
                bound.setdefault(acl, set(self.ids(acl))).add(uuid)
        return AclsImage(
            by_id, self._ids.changed({acl: _packed(uuids) for acl, uuids in bound.items()})
        )


def _repeated(by_id: Table[Uuid, Acl]) -> dict[Acl, Uuid | Ids | None]:
    bound: dict[Acl, list[Uuid]] = {}
    for uuid, acl in by_id.items():
        bound.setdefault(acl, []).append(uuid)
    return {acl: _packed(ids) for acl, ids in bound.items() if len(ids) > 1}


def _packed(ids: set[Uuid] | list[Uuid]) -> Uuid | Ids | None:
    ordered = tuple(sorted(ids))
    return ordered if len(ordered) > 1 else ordered[0] if ordered else None


EMPTY: Final = AclsImage()


class AclsDelta:
    """Changes to an ``AclsImage``, from records or (``is_replacement``) a whole snapshot.

    ``doubtful`` counts the records that were applied although they may not mean what
    they seem to: ``may_mislead`` says which those are.
    """

    __slots__ = (
        "_added",
        "_changes",
        "_gone",
        "_is_given",
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
        self._is_given = False

    @property
    def changes(self) -> Mapping[Uuid, Acl | None]:
        """The net changes in record order, None for a removal.

        What was added and removed again since ``image`` is not among them. Where there
        was no ACL before, or all are replaced, they are those there are now, in no order
        if many, and then the removals.
        """
        if self._whole is None:
            return self._changes
        return {**self._whole, **self._gone} if self._gone else self._whole

    def add(self, record: AccessControlEntryRecord) -> None:
        if may_mislead(record) is not None:
            self.doubtful += 1
        self.add_run(AclRun([record.id], [acl_of(record)]))

    def add_run(self, run: AclRun) -> None:
        """A million ACLs come this way at start-up."""
        added = zip(run.ids, run.acls, strict=True)
        whole = self._own_whole()
        if whole is None:
            self._changes.update(added)
        else:
            whole.update(added)
            self._added += run.acls

    def in_record_order(self, after: AclsImage) -> Collection[Acl]:
        """The ACLs of ``after``, to which this delta led, once for each id.

        Where it made all of them, they come in the order of their records: so they lie in
        memory, and to walk through them takes half of the time.
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
                f"removes the ACL {uuid_text(uuid)}, which is not there",
                advice="records before this one are missing, or it was written twice",
            )

    def finish_snapshot(self) -> None:
        """Of a replacement: what was there before and is not among its records is gone."""
        now = self.changes
        self._gone = {uuid: None for uuid in self.image.by_id if uuid not in now}

    def apply(self) -> AclsImage:
        if self._whole is None:
            return self.image._changed(self._changes)
        self._is_given = True
        return AclsImage(Table.owning(self._whole))

    def _own_whole(self) -> dict[Uuid, Acl] | None:
        """All ACLs, to be changed; not the dict that an image was made of."""
        if self._is_given and self._whole is not None:
            self._whole, self._is_given = self._whole.copy(), False
        return self._whole
