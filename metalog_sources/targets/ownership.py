"""Ownership among files of ACLs: entries that their file does not own, and overlaps of files.

It checks only files with ``owns``. This module must not know how a finding is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from metalog.acl import PatternType
from metalog_sources.formats.document import AclEntry, Claim, Document, Own, is_owned


class Outside(NamedTuple):
    """An ACL in a file that does not own it; ``owner`` is another file's claim that covers it."""

    entry: AclEntry
    owner: Claim | None


class Overlap(NamedTuple):
    """ACLs that two files own: ``--prune`` with one file alone removes those of the other."""

    first: Claim
    second: Claim


def added_outside(document: Document) -> list[Outside]:
    """The entries that are not covered by ``owns`` in the same file, in order."""
    owns = _by_file(document.claims)
    outside = []
    for entry in document.entries:
        mine = owns.get(entry.position.file) if entry.position is not None else None
        if mine is None or is_owned(entry.acl, [claim.own for claim in mine]):
            continue
        owner = next((claim for claim in document.claims if claim.own.covers(entry.acl)), None)
        outside.append(Outside(entry, owner))
    return outside


def owned_twice(document: Document) -> list[Overlap]:
    """Each claim with the first claim of another file that can cover the same ACL.

    It compares two claims only if the name of one begins with the name of the other.
    """
    position = {claim: number for number, claim in enumerate(document.claims)}
    first: dict[Claim, Claim] = {}
    for claim, other in _candidates(document.claims):
        early, late = sorted((claim, other), key=position.__getitem__)
        if claim.position.file != other.position.file and claim.own.overlaps(other.own):
            first[late] = min(first.get(late, early), early, key=position.__getitem__)
    return [Overlap(first[claim], claim) for claim in document.claims if claim in first]


def _candidates(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    nameless = [claim for claim in claims if claim.own.name is None]
    named = [(claim.own.name, claim) for claim in claims if claim.own.name is not None]
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


def outside_text(owner: Claim | None) -> str:
    """The reason for an ``Outside``, as a clause about its ACL."""
    if owner is None:
        return "no entry of owns in its file covers it"
    return f"its file does not own this, but {owner.position} does"


def overlap_text(overlap: Overlap) -> str:
    """The reason for an ``Overlap``, as a clause about the second file's claim."""
    return (
        f"{own_text(overlap.first.own)} are owned by {overlap.first.position} too: --prune with "
        "only one of the files removes the ACLs of the other"
    )


def own_text(own: Own) -> str:
    """The extent of an entry of ``owns``: ``ACLs on a topic PREFIXED payments-``."""
    kind = own.resource_type.name.lower().replace("_", " ")
    text = "ACLs" if own.resource_type.name == "ANY" else f"ACLs on a {kind}"
    if own.name is not None:
        text += f" {own.pattern_type.name} {own.name}"
    return text if own.principal is None else f"{text} of {own.principal}"


def _by_file(claims: Collection[Claim]) -> dict[str, list[Claim]]:
    owns_of_file: dict[str, list[Claim]] = {}
    for claim in claims:
        owns_of_file.setdefault(claim.position.file, []).append(claim)
    return owns_of_file
