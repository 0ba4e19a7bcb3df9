"""Turns requests to create and delete ACLs into records.

This module refuses what Kafka's admin handlers and AclControlManager refuse, with the same codes
and texts. This module also refuses texts that no record can hold, and limits the ACLs in a
response. A request to create an existing ACL succeeds and writes nothing. If two filters match an
ACL, both results list the ACL. Pure: ids come from ``entropy``. This module must not know the
caller, nor check permissions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from operator import itemgetter
from typing import Final, NamedTuple

from metalog.acl import WILDCARD, Acl, AclFilter, PatternType, acl_problem
from metalog.controller.acl_hosts import AclVersions, why_no_acl
from metalog.controller.result import (
    MAX_RECORDS_PER_USER_OPERATION,
    SUCCESS,
    ApiError,
    ControllerResult,
)
from metalog.errors import ErrorCode
from metalog.ids import Entropy, Uuid, random_uuid
from metalog.image.state.acls import AclsImage
from metalog.ports import AclDeleteResult
from metalog.records.acl_codes import record_of
from metalog.records.message import Message
from metalog.records.messages import RemoveAccessControlEntryRecord
from metalog.records.primitives.text import text_problem

_FEW_FILTERS: Final = 4
_MOST_LISTED: Final = 10 * MAX_RECORDS_PER_USER_OPERATION
"""The limit on the ACLs in a response, because many filters can match the same ACLs."""
_TEXTS: Final = ("name", "principal", "host")

_TOO_MANY_CREATED: Final = ApiError(
    ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
)
_TOO_MANY_DELETED: Final = ApiError(
    ErrorCode.INVALID_REQUEST,
    f"Cannot remove more than {MAX_RECORDS_PER_USER_OPERATION} acls in a single delete operation.",
)


def create_acls(
    image: AclsImage, acls: Sequence[Acl], entropy: Entropy, versions: AclVersions | None = None
) -> ControllerResult[list[ApiError]]:
    """Records, and one outcome per ACL, in order. If ``versions`` is None, Kafka's rules for
    hosts do not apply."""
    results = [why_not(acl, versions) for acl in acls]
    sound = (acl for acl, error in zip(acls, results, strict=True) if not error)
    records = creations(image, sound, entropy)
    if len(records) > MAX_RECORDS_PER_USER_OPERATION:
        return ControllerResult((), [_TOO_MANY_CREATED] * len(acls))
    return ControllerResult(records, results)


def creations(image: AclsImage, acls: Iterable[Acl], entropy: Entropy) -> list[tuple[Message, int]]:
    """A record with a new id for each of ``acls`` that ``image`` does not have."""
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
    """Records, and one result per filter, in order. A bad filter does not stop valid filters."""
    removed: dict[Uuid, None] = {}
    results, listed = [], 0
    sought = _AclLookup(image, filters)
    for wanted in filters:
        error = why_no_deletion(wanted)
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


def why_not(acl: Acl, versions: AclVersions | None = None) -> ApiError:
    """Why the creation of ``acl`` is refused, or SUCCESS. The checks have Kafka's order."""
    if problem := _problem(acl):
        return ApiError(ErrorCode.INVALID_REQUEST, problem)
    return SUCCESS if versions is None else why_no_acl(acl.host, versions)


def why_no_deletion(wanted: AclFilter) -> ApiError:
    """Why a deletion by ``wanted`` is refused, or SUCCESS."""
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
"""Three flags: whether a filter names a resource, a principal and a host."""


class _NumberedAcl(NamedTuple):
    position: int
    uuid: Uuid
    acl: Acl


_Part = list[_NumberedAcl]
_Codes = tuple[int, int, int, int]


class _FilterTexts(NamedTuple):
    """The texts of the filters that have the same ``_Named``."""

    match_names: list[str]
    """The resource names of MATCH filters, sorted."""
    match_entries: set[tuple[str, ...]]
    """The principals and hosts of these MATCH filters."""
    exact: set[tuple[str, ...]]
    """All texts of each other filter."""


class _AclLookup:
    """Finds the ACLs of an image that filters match.

    For many filters, an index groups the ACLs by the texts that a filter names. Each group has
    parts with equal enum codes, so a filter matches all ACLs of a part, or none.

    The index leaves out most ACLs that no filter matches, because 500,000 more objects stop all
    threads for a third of a second. A part has at most ``MAX_RECORDS_PER_USER_OPERATION`` + 1 ACLs,
    because a larger deletion is refused.
    """

    def __init__(self, image: AclsImage, filters: Sequence[AclFilter]) -> None:
        self._image = image
        self._filters = filters
        self._is_indexed = len(filters) > _FEW_FILTERS
        self._groups: dict[_Named, dict[tuple[str, ...], dict[_Codes, _Part]]] = {}
        self._prefix_lengths: list[int] = []
        if self._is_indexed:
            every = image.by_id.values()
            prefixes = (acl for acl in every if acl.pattern_type is not PatternType.LITERAL)
            self._prefix_lengths = sorted({len(acl.resource_name) for acl in prefixes})

    def matching(self, wanted: AclFilter) -> Iterator[tuple[Uuid, Acl]]:
        """The ids and ACLs that ``wanted`` matches, in the image's order."""
        if not self._is_indexed:
            return (found for found in self._image.by_id.items() if wanted.matches(found[1]))
        named, texts = _named(wanted), _other_texts(wanted)
        if named not in self._groups:
            self._groups[named] = self._grouped(named)
        found: _Part = []
        for name in self._names(wanted):
            for part in self._groups[named].get((*name, *texts), {}).values():
                if wanted.matches(part[0].acl):
                    found += part
        return ((uuid, acl) for _, uuid, acl in sorted(found, key=itemgetter(0)))

    def _names(self, wanted: AclFilter) -> Iterable[tuple[str, ...]]:
        """The resource names that ``wanted`` can match, as one-tuples; an empty tuple is any
        name."""
        name = wanted.pattern.name
        if name is None:
            return [()]
        if wanted.pattern.pattern_type is not PatternType.MATCH:
            return [(name,)]
        lengths = self._prefix_lengths[: bisect_right(self._prefix_lengths, len(name))]
        return dict.fromkeys([(name,), (WILDCARD,), *((name[:length],) for length in lengths)])

    def _grouped(self, named: _Named) -> dict[tuple[str, ...], dict[_Codes, _Part]]:
        groups: dict[tuple[str, ...], dict[_Codes, _Part]] = {}
        sought = self._texts_of(named)
        for position, (uuid, acl) in enumerate(self._image.by_id.items()):
            texts = tuple(compress((acl.resource_name, acl.principal, acl.host), named))
            if texts in sought.exact or (sought.match_names and _may_match(sought, acl, texts)):
                codes = acl.resource_type, acl.pattern_type, acl.operation, acl.permission_type
                part = groups.setdefault(texts, {}).setdefault(codes, [])
                if len(part) <= MAX_RECORDS_PER_USER_OPERATION:
                    part.append(_NumberedAcl(position, uuid, acl))
        return groups

    def _texts_of(self, named: _Named) -> _FilterTexts:
        found, names = _FilterTexts([], set(), set()), set()
        for each in self._filters:
            name, texts = each.pattern.name, _other_texts(each)
            if _named(each) != named:
                continue
            if name is not None and each.pattern.pattern_type is PatternType.MATCH:
                names.add(name)
                found.match_entries.add(texts)
            else:
                found.exact.add(texts if name is None else (name, *texts))
        found.match_names.extend(sorted(names))
        return found


def _named(wanted: AclFilter) -> _Named:
    return (
        wanted.pattern.name is not None,
        wanted.entry.principal is not None,
        wanted.entry.host is not None,
    )


def _other_texts(wanted: AclFilter) -> tuple[str, ...]:
    entry = wanted.entry
    return tuple(each for each in (entry.principal, entry.host) if each is not None)


def _may_match(sought: _FilterTexts, acl: Acl, texts: tuple[str, ...]) -> bool:
    """False if no filter of ``match_names`` matches ``acl``. True is not certain: one filter can
    have the name, and another filter the principal and host."""
    name, names = acl.resource_name, sought.match_names
    if texts[1:] not in sought.match_entries:
        return False
    if name == WILDCARD:
        return True
    at = bisect_left(names, name)
    if at == len(names):
        return False
    is_prefix = acl.pattern_type is not PatternType.LITERAL
    return names[at] == name or (is_prefix and names[at].startswith(name))


def _new_id(image: AclsImage, taken: set[Uuid], entropy: Entropy) -> Uuid:
    while True:
        uuid = random_uuid(entropy)
        if uuid not in image.by_id and uuid not in taken:
            return uuid
