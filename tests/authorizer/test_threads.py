"""Readers during writes: one call answers from one image, and from one that was current."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator

import pytest

from authorizer import (
    Acl,
    Action,
    Operation,
    PatternType,
    PermissionType,
    RequestContext,
    ResourceType,
    StandardAuthorizer,
    topic,
)
from metalog.ids import Uuid
from tests.support.worlds import spec

STEPS = 1_200
READERS = 3
NAMES = ("a", "ab", "abc", "b", "*x", "stemless")
PATTERNS = (*NAMES, "", "*")
OPERATIONS = (Operation.READ, Operation.WRITE, Operation.DESCRIBE)
ME = RequestContext("User:a", "1.1.1.1")
WHO = {"User:a"}, "1.1.1.1"
ACTIONS = [Action(operation, topic(name)) for name in NAMES for operation in OPERATIONS]
TOPIC = ResourceType.TOPIC

Said = tuple[frozenset[Acl], tuple[bool, ...], tuple[bool, ...]]


@pytest.fixture(autouse=True)
def _threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def _answers_of(acls: frozenset[Acl]) -> Said:
    return (
        acls,
        tuple(
            bool(spec.decide(acls, WHO, each.operation, TOPIC, each.resource.name, False).result)
            for each in ACTIONS
        ),
        tuple(spec.is_allowed_by_resource_type(acls, WHO, op, TOPIC, False) for op in OPERATIONS),
    )


def _histories(choose: random.Random) -> Iterator[dict[Uuid, Acl]]:
    """The ACLs after each step; a step adds or removes one, or replaces all."""
    by_id: dict[Uuid, Acl] = {}
    for number in range(STEPS):
        if by_id and choose.random() * 12 < len(by_id):
            gone = choose.choice(list(by_id))
            by_id = {uuid: acl for uuid, acl in by_id.items() if uuid != gone}
        else:
            acl = Acl(
                TOPIC,
                choose.choice(PATTERNS),
                choose.choice((PatternType.LITERAL, PatternType.PREFIXED)),
                choose.choice(("User:a", "User:b", "User:*")),
                "*",
                choose.choice(OPERATIONS),
                choose.choice((PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY)),
            )
            if acl not in by_id.values():
                by_id = {**by_id, Uuid(number.to_bytes(16, "big")): acl}
        yield by_id


def _publish(
    authorizer: StandardAuthorizer, before: dict[Uuid, Acl], after: dict[Uuid, Acl], number: int
) -> None:
    if number % 10 == 0:
        authorizer.load_snapshot(after)
        return
    for uuid in before.keys() - after.keys():
        authorizer.remove_acl(uuid)
    for uuid in after.keys() - before.keys():
        authorizer.add_acl(uuid, after[uuid])


def _ask(authorizer: StandardAuthorizer, question: int) -> object:
    if question == 0:
        return frozenset(authorizer.acls())
    if question == 1:
        return tuple(map(bool, authorizer.authorize(ME, ACTIONS)))
    operation = OPERATIONS[question - 2]
    return bool(authorizer.authorize_by_resource_type(ME, operation, TOPIC))


def _expected(image: Said, question: int) -> object:
    return image[question] if question < 2 else image[2][question - 2]


def test_every_answer_is_that_of_an_image_published_while_it_was_asked_for() -> None:
    images = [{}, *_histories(random.Random(5))]
    said = [_answers_of(frozenset(image.values())) for image in images]
    authorizer = StandardAuthorizer()
    authorizer.complete_initial_load()
    published = 0
    wrong: list[object] = []
    asked = [0] * READERS
    everybody_is_here = threading.Barrier(READERS + 1)

    def read(reader: int) -> None:
        choose = random.Random(reader)
        everybody_is_here.wait()
        while published < STEPS:
            question = choose.randrange(2 + len(OPERATIONS))
            first = published
            answer = _ask(authorizer, question)
            last = min(published + 1, STEPS)  # its next one may be out before the writer says so
            asked[reader] += 1
            if answer not in [_expected(image, question) for image in said[first : last + 1]]:
                wrong.append((first, last, question, answer))

    readers = [threading.Thread(target=read, args=(number,)) for number in range(READERS)]
    for reader in readers:
        reader.start()
    everybody_is_here.wait()
    for number in range(1, STEPS + 1):
        _publish(authorizer, images[number - 1], images[number], number)
        published = number
    for reader in readers:
        reader.join(timeout=60)
    assert not wrong
    assert all(count > 20 for count in asked), asked
