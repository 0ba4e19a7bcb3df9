"""The contents of a file of ACLs: entries with notes, ``owns``, and SCRAM users.

Files of all formats are read into a ``Document``. This module must not know any format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Protocol, TypeVar

from metalog.acl import WILDCARD, Acl, PatternType, ResourceType, java_order
from metalog.errors import InvalidRequest
from metalog.scram import ScramCredential, ScramMechanism


class FilePosition(NamedTuple):
    """A position in a file; lines and columns count from 1, and 0 is unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        line = f", line {self.line}" if self.line else ""
        return f"{self.file}{line}{f', column {self.column}' if self.column else ''}"


class AclNotes(NamedTuple):
    """Notes of people about an ACL. Kafka does not store notes. ``expires`` is ISO 8601."""

    comment: str | None = None
    owner: str | None = None
    ticket: str | None = None
    expires: str | None = None


NO_NOTES: Final = AclNotes()
MAX_ACLS_OF_A_RULE: Final = 100_000
"""A rule is one item of a file's list ``acls``, or one kafka-acls command."""
MOST_ENTRIES: Final = 500_000
"""The limit on the ACLs in a file that is not large (see ``most_entries``)."""
_BYTES_AN_ENTRY: Final = 4


class AclEntry(NamedTuple):
    acl: Acl
    notes: AclNotes = NO_NOTES
    position: FilePosition | None = None


class Own(NamedTuple):
    """A set of ACLs that a file owns: ``--prune`` removes ACLs of this set that the file lacks.

    A ``name`` or ``principal`` of None means any. PREFIXED owns literal and prefixed ACLs whose
    name begins with ``name``, but never the wildcard ``*``.
    """

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.LITERAL
    principal: str | None = None

    def covers(self, acl: Acl) -> bool:
        if self.resource_type not in (ResourceType.ANY, acl.resource_type):
            return False
        if self.principal not in (None, acl.principal):
            return False
        if self.name is None:
            return True
        is_literal = acl.pattern_type is PatternType.LITERAL
        if self.pattern_type is PatternType.LITERAL:
            return is_literal and acl.resource_name == self.name
        is_wildcard = is_literal and acl.resource_name == WILDCARD
        return acl.resource_name.startswith(self.name) and not is_wildcard

    def overlaps(self, other: Own) -> bool:
        """Whether ``self`` and ``other`` can both own one ACL."""
        types = {self.resource_type, other.resource_type} - {ResourceType.ANY}
        principals = {self.principal, other.principal} - {None}
        if len(types) > 1 or len(principals) > 1:
            return False
        if self.name is None or other.name is None:
            return True
        if self.pattern_type is other.pattern_type is PatternType.LITERAL:
            return self.name == other.name
        for one, two in ((self, other), (other, self)):
            if one.pattern_type is PatternType.LITERAL:
                return one.name != WILDCARD and (one.name or "").startswith(two.name or "")
        return self.name.startswith(other.name) or other.name.startswith(self.name)


class OwnsEntry(NamedTuple):
    own: Own
    position: FilePosition


def is_owned(acl: Acl, owns: Iterable[Own]) -> bool:
    return any(own.covers(acl) for own in owns)


class ScramUser(NamedTuple):
    """A user's credential for one mechanism. If the file has no secrets, the salt is empty."""

    user: str
    mechanism: ScramMechanism
    credential: ScramCredential


class Document(NamedTuple):
    """The contents of a file of ACLs, in the file's order; an ACL can occur twice.

    ``missing`` has the lines that say what is missing from the file.
    """

    entries: tuple[AclEntry, ...] = ()
    owns: tuple[Own, ...] = ()
    users: tuple[ScramUser, ...] = ()
    missing: tuple[str, ...] = ()
    owns_entries: tuple[OwnsEntry, ...] = ()

    @property
    def acls(self) -> tuple[Acl, ...]:
        """The ACLs in order, without duplicates."""
        return tuple(dict.fromkeys(entry.acl for entry in self.entries))


def most_entries(size: int) -> int:
    """The limit on the ACLs in a file of ``size`` bytes or characters. Lists, aliases and
    compression can turn few bytes into many ACLs."""
    return max(MOST_ENTRIES, size // _BYTES_AN_ENTRY)


class Positioned(Protocol):
    @property
    def position(self) -> FilePosition | None: ...


_Entry = TypeVar("_Entry", bound=Positioned)


def bounded(entries: Iterable[_Entry], size: int, what: str = "ACLs") -> Iterator[_Entry]:
    """``entries``; ``InvalidRequest`` if there are more than ``most_entries(size)``."""
    most = most_entries(size)
    for number, entry in enumerate(entries, 1):
        if number > most:
            where = "" if entry.position is None else f"{entry.position}: "
            raise InvalidRequest(f"{where}the file expands to more than {most:,} {what}; split it")
        yield entry


def joined(documents: Iterable[Document]) -> Document:
    parts = list(documents)
    return Document(
        tuple(entry for part in parts for entry in part.entries),
        tuple(dict.fromkeys(own for part in parts for own in part.owns)),
        tuple(dict.fromkeys(user for part in parts for user in part.users)),
        tuple(dict.fromkeys(line for part in parts for line in part.missing)),
        tuple(dict.fromkeys(entry for part in parts for entry in part.owns_entries)),
    )


def acl_order(acl: Acl) -> tuple[object, ...]:
    """The sort key of ACLs in an export."""
    return (
        java_order(acl.principal),
        acl.resource_type,
        java_order(acl.resource_name),
        acl.pattern_type,
        acl.permission_type,
        java_order(acl.host),
        acl.operation,
    )


def in_order(entries: Iterable[AclEntry]) -> list[AclEntry]:
    """The entries in ``acl_order``. Of duplicate ACLs, only the first entry stays."""
    first: dict[Acl, AclEntry] = {}
    for entry in entries:
        first.setdefault(entry.acl, entry)
    return sorted(first.values(), key=lambda entry: acl_order(entry.acl))


def users_in_order(users: Iterable[ScramUser]) -> list[ScramUser]:
    return sorted(users, key=lambda user: (java_order(user.user), user.mechanism))
