"""Turns requests to create and delete ACLs into records.

It refuses the same requests as Kafka's admin handlers and AclControlManager, with the same codes
and texts; which hosts it refuses depends on Kafka's version (``acl_hosts``). Creating an existing
ACL succeeds and writes nothing. An ACL that two filters match is removed once and listed by both.
Pure: it only reads the image, and ids come from ``entropy``. This module must not know the caller,
nor check permissions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Final

from metalog.acl import (
    WILDCARD,
    Acl,
    AclFilter,
    PatternType,
    acl_problem,
)
from metalog.controller.acl_hosts import AclCreator, why_no_host
from metalog.controller.result import (
    MAX_RECORDS_PER_USER_OPERATION,
    SUCCESS,
    ApiError,
    ControllerResult,
)
from metalog.errors import ErrorCode
from metalog.ids import Entropy, Uuid, random_uuid
from metalog.image.acls import AclsImage
from metalog.ports import AclDeleteResult
from metalog.records.acl_codes import record_of
from metalog.records.message import Message
from metalog.records.messages import RemoveAccessControlEntryRecord
from metalog.records.primitives.text import text_problem

_FEW: Final = 4
_MOST_LISTED: Final = 10 * MAX_RECORDS_PER_USER_OPERATION
"""Each filter lists all its matches, so many filters with the same matches would fill the memory.
"""
_TEXTS: Final = ("name", "principal", "host")

_TOO_MANY_CREATED: Final = ApiError(
    ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
)
_TOO_MANY_DELETED: Final = ApiError(
    ErrorCode.INVALID_REQUEST,
    f"Cannot remove more than {MAX_RECORDS_PER_USER_OPERATION} acls in a single delete operation.",
)


def create_acls(
    image: AclsImage, acls: Sequence[Acl], entropy: Entropy, creator: AclCreator | None = None
) -> ControllerResult[list[ApiError]]:
    """One outcome for each of ``acls``, in order; without a ``creator`` any host is accepted."""
    results = [why_not(acl, creator) for acl in acls]
    sound = (acl for acl, error in zip(acls, results, strict=True) if not error)
    records = creations(image, sound, entropy)
    if len(records) > MAX_RECORDS_PER_USER_OPERATION:
        return ControllerResult((), [_TOO_MANY_CREATED] * len(acls))
    return ControllerResult(records, results)


def creations(image: AclsImage, acls: Iterable[Acl], entropy: Entropy) -> list[tuple[Message, int]]:
    """A record with a new id for each of ``acls`` that does not exist."""
    created: dict[Acl, Uuid] = {}
    taken: set[Uuid] = set()
    for acl in acls:
        if acl not in created and not image.ids(acl):
            created[acl] = uuid = _new_id(image, taken, entropy)
            taken.add(uuid)
    return [(record_of(uuid, acl), 0) for acl, uuid in created.items()]


def delete_acls(
    image: AclsImage, filters: Sequence[AclFilter]
) -> ControllerResult[list[AclDeleteResult]]:
    """One result for each of ``filters``, in their order; a bad filter fails alone."""
    removed: dict[Uuid, None] = {}
    results, listed = [], 0
    sought = _Sought(image, is_indexed=len(filters) > _FEW)
    for wanted in filters:
        error = why_no_filter(wanted)
        if error:
            results.append(AclDeleteResult(error))
            continue
        deleted = []
        for uuid, acl in sought.matching(wanted):
            listed += 1
            if len(removed) >= MAX_RECORDS_PER_USER_OPERATION or listed > _MOST_LISTED:
                return ControllerResult((), [AclDeleteResult(_TOO_MANY_DELETED)] * len(filters))
            removed[uuid] = None
            deleted.append(acl)
        results.append(AclDeleteResult(deleted=deleted))
    records = [(RemoveAccessControlEntryRecord(id=uuid), 0) for uuid in removed]
    return ControllerResult(records, results)


def why_not(acl: Acl, creator: AclCreator | None = None) -> ApiError:
    """Why ``acl`` may not be created, in Kafka's order of checks."""
    if problem := _problem(acl):
        return ApiError(ErrorCode.INVALID_REQUEST, problem)
    return SUCCESS if creator is None else why_no_host(acl.host, creator)


def why_no_filter(wanted: AclFilter) -> ApiError:
    """Why the filter ``wanted`` may not delete."""
    pattern, entry = wanted
    if 0 in (pattern.resource_type, pattern.pattern_type):
        return ApiError(ErrorCode.INVALID_REQUEST, "Unknown patternFilter.")
    if 0 in (entry.operation, entry.permission_type):
        return ApiError(ErrorCode.INVALID_REQUEST, "Unknown entryFilter.")
    return SUCCESS


def _problem(acl: Acl) -> str | None:
    if problem := acl_problem(acl):
        return problem
    for what, text in zip(_TEXTS, (acl.resource_name, acl.principal, acl.host), strict=True):
        if wrong := text_problem(text):
            return f"Invalid {what}: it {wrong}"
    return None


_Named = tuple[bool, ...]
"""Whether a filter names a resource, a principal, a host."""
_Texts = tuple[str, ...]
"""The texts that it names: of the resource, the principal and the host."""
_Places = list[int]
"""ACLs in the image's order."""


class _Sought:
    """An image's ACLs, ready for filters.

    With many filters (``is_indexed``) a filter costs what it matches, not the number of ACLs: ACLs
    are grouped by the texts that a filter names. A large group is divided by codes, so that a
    filter matches all or none of a part. It makes only one list a group: one more object for each
    ACL, freed at once, would stop every thread for as long as that takes.
    """

    def __init__(self, image: AclsImage, *, is_indexed: bool) -> None:
        self._all = list(image.by_id.items())
        self._is_indexed = is_indexed
        self._groups: dict[_Named, dict[_Texts, _Places]] = {}
        self._parts: dict[tuple[_Named, _Texts], list[_Places]] = {}
        self._prefix_lengths: list[int] = []
        if is_indexed:
            prefixes = (acl for _, acl in self._all if acl.pattern_type is not PatternType.LITERAL)
            self._prefix_lengths = sorted({len(acl.resource_name) for acl in prefixes})

    def matching(self, wanted: AclFilter) -> Iterator[tuple[Uuid, Acl]]:
        """In the image's order."""
        if not self._is_indexed:
            return (found for found in self._all if wanted.matches(found[1]))
        entry = wanted.entry
        texts = tuple(each for each in (entry.principal, entry.host) if each is not None)
        places: _Places = []
        for name in self._names(wanted):
            for part in self._divided(_named(wanted), (*name, *texts)):
                if wanted.matches(self._all[part[0]][1]):
                    places += part
        return (self._all[number] for number in sorted(places))

    def _names(self, wanted: AclFilter) -> Iterable[_Texts]:
        """The texts that an ACL matched by ``wanted`` may have; None where it names none."""
        name = wanted.pattern.name
        if name is None:
            return [()]
        if wanted.pattern.pattern_type is not PatternType.MATCH:
            return [(name,)]
        lengths = self._prefix_lengths[: bisect_right(self._prefix_lengths, len(name))]
        return dict.fromkeys([(name,), (WILDCARD,), *((name[:length],) for length in lengths)])

    def _divided(self, named: _Named, texts: _Texts) -> list[_Places]:
        """Divides a group into parts of which a filter matches all or none."""
        groups = self._groups.get(named)
        if groups is None:
            groups = self._groups[named] = self._grouped(named)
        group = groups.get(texts, [])
        if len(group) <= _FEW:
            return [[number] for number in group]
        parts = self._parts.get((named, texts))
        if parts is None:
            parts = self._parts[named, texts] = self._by_codes(group)
        return parts

    def _grouped(self, named: _Named) -> dict[_Texts, _Places]:
        groups: dict[_Texts, _Places] = {}
        for number, (_, acl) in enumerate(self._all):
            texts = tuple(compress((acl.resource_name, acl.principal, acl.host), named))
            groups.setdefault(texts, []).append(number)
        return groups

    def _by_codes(self, group: _Places) -> list[_Places]:
        parts: dict[tuple[int, ...], _Places] = {}
        for number in group:
            acl = self._all[number][1]
            codes = acl.resource_type, acl.pattern_type, acl.operation, acl.permission_type
            parts.setdefault(codes, []).append(number)
        return list(parts.values())


def _named(wanted: AclFilter) -> _Named:
    return (
        wanted.pattern.name is not None,
        wanted.entry.principal is not None,
        wanted.entry.host is not None,
    )


def _new_id(image: AclsImage, taken: set[Uuid], entropy: Entropy) -> Uuid:
    """An id that no ACL has."""
    while True:
        uuid = random_uuid(entropy)
        if uuid not in image.by_id and uuid not in taken:
            return uuid
