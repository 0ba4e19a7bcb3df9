"""What is said of a name that no ACL names agrees with the ACLs that reach it."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from authorizer.analysis.explain.unknown_names import unknown_names
from authorizer.trace import Question, reaches
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog_sources.formats.document import AclEntry, Document
from metalog_sources.store import image_of

ON_ALL = (PatternType.LITERAL, "*")
PATTERNS = (
    ON_ALL,
    (PatternType.LITERAL, "foo"),
    (PatternType.LITERAL, "*foo"),
    (PatternType.PREFIXED, "fo"),
    (PatternType.PREFIXED, "*"),
)
SETS = list(chain.from_iterable(combinations(PATTERNS, number) for number in range(4)))


def on(pattern: tuple[PatternType, str]) -> Acl:
    kind, name = pattern
    read, allow = Operation.READ, PermissionType.ALLOW
    return Acl(ResourceType.GROUP, name, kind, "User:a", "*", read, allow)


@pytest.mark.parametrize("name", ["*", "*foo", "*bar", "foo", "bar"])
def test_an_unknown_name_is_reached_only_by_the_acls_that_the_note_names(name: str) -> None:
    question = Question("User:a", Operation.READ, ResourceType.GROUP, name)
    for patterns in SETS:
        acls = [on(pattern) for pattern in patterns]
        image = image_of(Document(tuple(map(AclEntry, acls))))
        notes = [str(each) for each in unknown_names(question, image, ("User:a",))]
        reaching = {
            pattern
            for pattern, acl in zip(patterns, acls, strict=True)
            if reaches(acl, ResourceType.GROUP, name)
        }
        assert bool(notes) == (reaching <= {ON_ALL}), patterns
        for note in notes:
            assert note.startswith("only ACLs on * reach ") == bool(reaching), note
            assert note.startswith("no ACL reaches ") != bool(reaching), note
