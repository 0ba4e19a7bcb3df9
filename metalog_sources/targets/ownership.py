"""Finds ACLs outside the ``owns`` of their file, and ACLs that two files own.

Only files with ``owns`` are checked. This module must not know how a finding is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from metalog.acl import PatternType
from metalog.grouping import grouped
from metalog_sources.formats.document import AclEntry, Document, Own, OwnsEntry, is_owned


class Outside(NamedTuple):
    """An ACL that its file does not own. ``owner`` is another file's entry that covers the ACL."""

    entry: AclEntry
    owner: OwnsEntry | None


class Overlap(NamedTuple):
    """ACLs that two files own: ``--prune`` with one file can remove ACLs of the other file."""

    first: OwnsEntry
    second: OwnsEntry


def acls_outside(document: Document) -> list[Outside]:
    """The ACLs outside the ``owns`` of their file, in order."""
    owns = grouped(document.owns_entries, lambda entry: entry.position.file)
    outside = []
    for entry in document.entries:
        mine = owns.get(entry.position.file) if entry.position is not None else None
        if mine is None or is_owned(entry.acl, [each.own for each in mine]):
            continue
        owner = next((each for each in document.owns_entries if each.own.covers(entry.acl)), None)
        outside.append(Outside(entry, owner))
    return outside


def owned_twice(document: Document) -> list[Overlap]:
    """Each entry of ``owns`` that overlaps earlier entries of other files, with the first of these
    entries."""
    order = {entry: number for number, entry in enumerate(document.owns_entries)}
    first: dict[OwnsEntry, OwnsEntry] = {}
    for entry, other in _candidates(document.owns_entries):
        early, late = sorted((entry, other), key=order.__getitem__)
        if entry.position.file != other.position.file and entry.own.overlaps(other.own):
            first[late] = min(first.get(late, early), early, key=order.__getitem__)
    return [Overlap(first[entry], entry) for entry in document.owns_entries if entry in first]


def _candidates(owned: Sequence[OwnsEntry]) -> Iterator[tuple[OwnsEntry, OwnsEntry]]:
    """The pairs of entries that can overlap, by their resource names."""
    nameless = [entry for entry in owned if entry.own.name is None]
    named = [(entry.own.name, entry) for entry in owned if entry.own.name is not None]
    named.sort(key=itemgetter(0))
    for number, one in enumerate(nameless):
        yield from ((one, other) for other in nameless[number + 1 :])
        yield from ((one, other) for _, other in named)
    for number, (name, one) in enumerate(named):
        for at in range(number + 1, len(named)):
            longer, other = named[at]
            is_prefix = one.own.pattern_type is PatternType.PREFIXED
            if longer != name and not (is_prefix and longer.startswith(name)):
                break
            yield one, other


def outside_text(owner: OwnsEntry | None) -> str:
    """A clause to show beside the ACL of an ``Outside``."""
    if owner is None:
        return "no entry of owns in its file covers this ACL"
    return f"its file does not own this ACL, but {owner.position} does"


def overlap_text(overlap: Overlap) -> str:
    """A clause to show beside the second entry."""
    return (
        f"{own_text(overlap.first.own)} are owned by {overlap.first.position} too: --prune with "
        "only one of the files removes the ACLs of the other"
    )


def own_text(own: Own) -> str:
    """For example ``ACLs on a topic PREFIXED payments-``."""
    kind = own.resource_type.name.lower().replace("_", " ")
    text = "ACLs" if own.resource_type.name == "ANY" else f"ACLs on a {kind}"
    if own.name is not None:
        text += f" {own.pattern_type.name} {own.name}"
    return text if own.principal is None else f"{text} of {own.principal}"
