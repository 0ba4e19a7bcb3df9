"""The contents of a file of ACLs: entries with notes, ``owns``, and SCRAM users.

Every format is read into a ``Document`` and written from one. This module must not know
any format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Protocol, TypeVar

from metalog.acl import WILDCARD, Acl, PatternType, ResourceType, java_order
from metalog.errors import InvalidRequest
from metalog.scram import ScramCredential, ScramMechanism


class FilePosition(NamedTuple):
    """Where something stands in a file; lines and columns count from 1, 0 is unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        line = f", line {self.line}" if self.line else ""
        return f"{self.file}{line}{f', column {self.column}' if self.column else ''}"


class AclNotes(NamedTuple):
    """What people write beside an ACL; Kafka knows nothing of it. ``expires`` is ISO 8601."""

    comment: str | None = None
    owner: str | None = None
    ticket: str | None = None
    expires: str | None = None


NO_NOTES: Final = AclNotes()
MAX_ACLS_OF_A_RULE: Final = 100_000
MOST_ENTRIES: Final = 500_000
"""ACLs of a file, however small it is."""
_BYTES_AN_ENTRY: Final = 4


class AclEntry(NamedTuple):
    """One ACL, its notes, and where it was read."""

    acl: Acl
    notes: AclNotes = NO_NOTES
    place: FilePosition | None = None


class Own(NamedTuple):
    """ACLs that a file answers for: only among these may what it does not name be removed.

    A ``name`` or ``principal`` of None is any. PREFIXED owns every ACL, literal or prefixed,
    whose name begins so; the wildcard ``*`` is owned only by LITERAL ``*`` or by any name.
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
        """Whether there can be an ACL that both cover."""
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


class Claim(NamedTuple):
    """Where a file says that it owns something."""

    own: Own
    place: FilePosition


def is_owned(acl: Acl, owns: Iterable[Own]) -> bool:
    return any(own.covers(acl) for own in owns)


class ScramUser(NamedTuple):
    """A user's credential for one mechanism; its salt is empty where a file leaves it out."""

    user: str
    mechanism: ScramMechanism
    credential: ScramCredential


class Document(NamedTuple):
    """A file of ACLs. Its order is the file's; an ACL may stand in it twice.

    ``missing`` are lines about what the file says that it lacks: it was salvaged. ``claims``
    are ``owns`` with their places, where they were read from a file.
    """

    entries: tuple[AclEntry, ...] = ()
    owns: tuple[Own, ...] = ()
    users: tuple[ScramUser, ...] = ()
    missing: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()

    @property
    def acls(self) -> tuple[Acl, ...]:
        """Each ACL once, in order."""
        return tuple(dict.fromkeys(entry.acl for entry in self.entries))


def most_entries(size: int) -> int:
    """How many ACLs a file of ``size`` bytes may mean: lists, aliases and compression make
    many of few bytes."""
    return max(MOST_ENTRIES, size // _BYTES_AN_ENTRY)


class Positioned(Protocol):
    @property
    def place(self) -> FilePosition | None: ...


_Entry = TypeVar("_Entry", bound=Positioned)


def bounded(entries: Iterable[_Entry], size: int, what: str = "ACLs") -> Iterator[_Entry]:
    """``entries`` of a file of ``size`` bytes, unless there are more than ``most_entries``."""
    most = most_entries(size)
    for number, entry in enumerate(entries, 1):
        if number > most:
            where = "" if entry.place is None else f"{entry.place}: "
            raise InvalidRequest(f"{where}the file expands to more than {most:,} {what}; split it")
        yield entry


def joined(documents: Iterable[Document]) -> Document:
    """Several files as one."""
    parts = list(documents)
    return Document(
        tuple(entry for part in parts for entry in part.entries),
        tuple(dict.fromkeys(own for part in parts for own in part.owns)),
        tuple(dict.fromkeys(user for part in parts for user in part.users)),
        tuple(dict.fromkeys(line for part in parts for line in part.missing)),
        tuple(dict.fromkeys(claim for part in parts for claim in part.claims)),
    )


def acl_order(acl: Acl) -> tuple[object, ...]:
    """The order of every export: by principal, then resource, then what is said."""
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
    """Each ACL once, with the notes that stand with it first, in the order of exports."""
    first: dict[Acl, AclEntry] = {}
    for entry in entries:
        first.setdefault(entry.acl, entry)
    return sorted(first.values(), key=lambda entry: acl_order(entry.acl))


def users_in_order(users: Iterable[ScramUser]) -> list[ScramUser]:
    return sorted(users, key=lambda each: (java_order(each.user), each.mechanism))
