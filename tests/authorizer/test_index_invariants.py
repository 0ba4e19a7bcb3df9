"""A part of an index that does not fit the others is found out, whichever part it is."""

from __future__ import annotations

import pytest

from authorizer import Acl, PatternType, ResourceType
from authorizer.engine.buckets import FewAcls, bucket_of
from authorizer.engine.grants import Grants, grants_of
from authorizer.engine.host_blocks import HostBlocks
from authorizer.engine.index import AclIndex
from authorizer.engine.patterns import NO_PATTERNS, PatternBuckets
from authorizer.engine.prefixes import SortedNames
from metalog.image.table import Table
from tests.support.worlds.small_acls import allow

BROKEN = r"^an invariant of the index is broken$"
TOPIC = ResourceType.TOPIC
LITERAL = allow("pay", principal="User:a", host="10.0.0.0/8")
PREFIXED = LITERAL._replace(pattern_type=PatternType.PREFIXED, principal="User:b")
BLOCKS = HostBlocks.of([LITERAL.host, PREFIXED.host])
GRANTS = grants_of([LITERAL, PREFIXED])


def _named(name: str, *acls: Acl) -> PatternBuckets:
    return PatternBuckets.of({name: bucket_of([*acls])})


LITERALS, PREFIXES = _named("pay", LITERAL), _named("pay", PREFIXED)


def _by_type(patterns: PatternBuckets, of: ResourceType = TOPIC) -> list[PatternBuckets]:
    return [patterns if each is of else NO_PATTERNS for each in ResourceType]


def _index(
    literals: PatternBuckets = LITERALS,
    prefixed: PatternBuckets = PREFIXES,
    blocks: HostBlocks = BLOCKS,
    grants: Grants | None = GRANTS,
) -> AclIndex:
    return AclIndex(_by_type(literals), _by_type(prefixed), blocks, grants)


def test_a_sound_index_passes() -> None:
    _index()._check()
    _index(grants=None)._check()
    AclIndex.of([LITERAL, PREFIXED])._check()


@pytest.mark.parametrize(
    "broken",
    [
        _index(literals=_named("other", LITERAL)),
        _index(prefixed=_named("other", PREFIXED)),
        _index(literals=PREFIXES, prefixed=LITERALS),
        _index(literals=_named("pay", LITERAL, PREFIXED), prefixed=NO_PATTERNS),
        _index(literals=NO_PATTERNS, prefixed=_named("pay", LITERAL, PREFIXED)),
        _index(literals=PatternBuckets(LITERALS.buckets, SortedNames.of([]), None)),
        _index(literals=PatternBuckets(LITERALS.buckets, LITERALS.names, FewAcls((LITERAL,)))),
        _index(
            literals=PatternBuckets(Table(), SortedNames.of(["pay"]), None),
            blocks=HostBlocks.of([PREFIXED.host]),
            grants=grants_of([PREFIXED]),
        ),
        _index(grants=grants_of([LITERAL])),
        _index(blocks=HostBlocks.of([])),
        _index(blocks=HostBlocks.of([LITERAL.host])),
        AclIndex(_by_type(LITERALS, of=ResourceType.GROUP), _by_type(PREFIXES), BLOCKS),
        AclIndex(_by_type(LITERALS), _by_type(PREFIXES, of=ResourceType.GROUP), BLOCKS),
    ],
)
def test_a_part_that_does_not_fit_the_others_is_found_out(broken: AclIndex) -> None:
    with pytest.raises(AssertionError, match=BROKEN):
        broken._check()


def test_a_list_that_lacks_a_resource_type_is_found_out() -> None:
    lists = _by_type(LITERALS), _by_type(PREFIXES)
    for literals, prefixed in ((lists[0][:-1], lists[1]), (lists[0], lists[1][:-1])):
        with pytest.raises(ValueError, match="shorter"):
            AclIndex(literals, prefixed, BLOCKS)._check()


@pytest.mark.parametrize(
    ("part", "whose"),
    [
        (
            PatternBuckets(
                Table({"pay": FewAcls((LITERAL, LITERAL))}), SortedNames.of(["pay"]), None
            ),
            "a small bucket",
        ),
        (
            PatternBuckets(
                Table({"pay": bucket_of([LITERAL])}), SortedNames(["a"], [["pay"]], {3: 1}), None
            ),
            "the sorted names",
        ),
    ],
)
def test_what_is_broken_in_a_part_is_said(part: PatternBuckets, whose: str) -> None:
    with pytest.raises(AssertionError, match=f"^an invariant of {whose} is broken$"):
        _index(literals=part)._check()
