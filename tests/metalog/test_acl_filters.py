"""Which ACLs a filter selects (KIP-290): each kind of pattern beside each kind of filter."""

from __future__ import annotations

import pytest

from metalog.acl import (
    AccessControlEntryFilter,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    PermissionType,
    ResourcePatternFilter,
    ResourceType,
)
from metalog.errors import InvalidRequest
from metalog.principal import parse_principal

TOPIC, GROUP, ANY_TYPE = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.ANY
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ANY, MATCH = PatternType.ANY, PatternType.MATCH
ACL = Acl(TOPIC, "Name", LITERAL, "User:a", "*", Operation.READ, PermissionType.ALLOW)


SELECTED = {
    (TOPIC, "Name", LITERAL): {
        *((ANY_TYPE, None, ANY), (ANY_TYPE, "Name", LITERAL), (TOPIC, "Name", LITERAL)),
        *((TOPIC, "Name", ANY), (TOPIC, "Name", MATCH), (TOPIC, None, MATCH)),
    },
    (TOPIC, "*", LITERAL): {
        *((TOPIC, "*", LITERAL), (TOPIC, "*", ANY), (TOPIC, "*", MATCH)),
        *((TOPIC, "Name", MATCH), (TOPIC, "", MATCH), (TOPIC, None, LITERAL)),
    },
    (TOPIC, "Name", PREFIXED): {
        *((TOPIC, "Name", PREFIXED), (TOPIC, "Name", ANY), (TOPIC, "Name", MATCH)),
        *((TOPIC, "Name-one", MATCH), (TOPIC, None, PREFIXED)),
    },
    (TOPIC, "*", PREFIXED): {(TOPIC, "*", MATCH), (TOPIC, "*s", MATCH)},
}
PASSED_OVER = {
    (TOPIC, "Name", LITERAL): {
        *((GROUP, "Name", ANY), (TOPIC, "name", ANY), (TOPIC, "Nam", MATCH), (TOPIC, "", ANY)),
        *((TOPIC, "Names", MATCH), (TOPIC, "Name", PREFIXED), (TOPIC, "*", ANY)),
        (TOPIC, "*", MATCH),
    },
    (TOPIC, "*", LITERAL): {
        *((TOPIC, "Name", LITERAL), (TOPIC, "Name", ANY), (TOPIC, "*", PREFIXED)),
        (GROUP, "Name", MATCH),
    },
    (TOPIC, "Name", PREFIXED): {
        *((TOPIC, "Name-one", PREFIXED), (TOPIC, "Name-one", ANY), (TOPIC, "Nam", PREFIXED)),
        *((TOPIC, "Nam", MATCH), (TOPIC, "Name", LITERAL), (GROUP, "Name-one", MATCH)),
    },
    (TOPIC, "*", PREFIXED): {(TOPIC, "Name", MATCH)},
}


@pytest.mark.parametrize("pattern", SELECTED)
def test_a_pattern_filter_selects(pattern) -> None:
    kind, name, pattern_type = pattern
    acl = ACL._replace(resource_type=kind, resource_name=name, pattern_type=pattern_type)
    asked = SELECTED[pattern] | PASSED_OVER[pattern]
    assert {each for each in asked if ResourcePatternFilter(*each).matches(acl)} == SELECTED[
        pattern
    ]


@pytest.mark.parametrize(
    ("entry", "is_selected"),
    [
        ({}, True),
        ({"principal": "User:a", "host": "*"}, True),
        ({"operation": Operation.READ, "permission_type": PermissionType.ALLOW}, True),
        ({"principal": "User:A"}, False),
        ({"principal": "User:*"}, False),
        ({"host": "10.0.0.1"}, False),
        ({"operation": Operation.ALL}, False),
        ({"operation": Operation.DESCRIBE}, False),
        ({"permission_type": PermissionType.DENY}, False),
    ],
)
def test_an_entry_filter_selects_what_it_names_and_nothing_implied(
    entry, is_selected: bool
) -> None:
    both = AclFilter(ResourcePatternFilter(TOPIC, "Name"), AccessControlEntryFilter(**entry))
    assert both.matches(ACL) is is_selected
    assert not both._replace(pattern=ResourcePatternFilter(GROUP)).matches(ACL)


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("User:a", "User", "a"),
        ("Group:a:b=c", "Group", "a:b=c"),
        ("User:", "User", ""),
        (":a", "", "a"),
    ],
)
def test_a_principals_type_ends_at_the_first_colon(text: str, kind: str, name: str) -> None:
    assert parse_principal(text) == (kind, name)
    assert str(parse_principal(text)) == text
    with pytest.raises(InvalidRequest, match="write it as User:a"):
        parse_principal("a")
