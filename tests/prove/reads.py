"""Readers in threads while images are published: each answer is that of one image, which was in
force during the call."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Iterator

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
from tests.prove.promise import Promise
from tests.support.worlds import spec

STEPS, READS = 1_000, 200
"""Images of a unit, and reads of each at least."""
READERS = 3
NAMES = ("a", "ab", "abc", "b", "*x", "stemless")
PATTERNS = (*NAMES, "", "*")
OPERATIONS = (Operation.READ, Operation.WRITE, Operation.DESCRIBE)
ME = RequestContext("User:a", "1.1.1.1")
WHO = {"User:a"}, "1.1.1.1"
ACTIONS = [Action(operation, topic(name)) for name in NAMES for operation in OPERATIONS]
TOPIC = ResourceType.TOPIC
QUESTIONS = 2 + len(OPERATIONS) + len(ACTIONS)

Answers = tuple[frozenset[Acl], tuple[bool, ...], tuple[bool, ...]]


def _said_by(acls: frozenset[Acl]) -> Answers:
    return (
        acls,
        tuple(
            bool(spec.decide(acls, WHO, each.operation, TOPIC, each.resource.name, False).result)
            for each in ACTIONS
        ),
        tuple(spec.is_allowed_by_resource_type(acls, WHO, op, TOPIC, False) for op in OPERATIONS),
    )


def _histories(choose: random.Random, steps: int) -> Iterator[dict[Uuid, Acl]]:
    """The ACLs after each step; one comes or goes, or all are replaced."""
    by_id: dict[Uuid, Acl] = {}
    for number in range(steps):
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
    """Most questions are about one action, as most of a broker's."""
    if question == 0:
        return frozenset(authorizer.acls())
    if question == 1:
        return tuple(map(bool, authorizer.authorize(ME, ACTIONS)))
    if question < 2 + len(OPERATIONS):
        return bool(authorizer.authorize_by_resource_type(ME, OPERATIONS[question - 2], TOPIC))
    return authorizer.is_allowed(ME, ACTIONS[question - 2 - len(OPERATIONS)])


def _expected(image: Answers, question: int) -> object:
    if question < 2:
        return image[question]
    by_type = image[2]
    return (*by_type, *image[1])[question - 2]


def watched(seed: int, steps: int, reads: int) -> int:
    """The number of reads, in threads, while ``steps`` images are published, each after so many
    reads of the one before; ``AssertionError`` where one is wrong."""
    images = [{}, *_histories(random.Random(seed), steps)]
    said = [_said_by(frozenset(image.values())) for image in images]
    authorizer = StandardAuthorizer()
    authorizer.complete_initial_load()
    published, is_over = 0, False
    wrong: list[object] = []
    asked = [0] * READERS
    everybody_is_here = threading.Barrier(READERS + 1)

    def read(reader: int) -> None:
        choose = random.Random(reader)
        everybody_is_here.wait()
        while not is_over:
            question = int(choose.random() * QUESTIONS)
            first = published
            answer = _ask(authorizer, question)
            last = min(published + 1, steps)  # its next one may be out before the writer says so
            asked[reader] += 1
            if answer not in [_expected(image, question) for image in said[first : last + 1]]:
                wrong.append((first, last, question, answer))

    readers = [threading.Thread(target=read, args=(number,)) for number in range(READERS)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for reader in readers:
            reader.start()
        everybody_is_here.wait()
        for number in range(1, steps + 1):
            _publish(authorizer, images[number - 1], images[number], number)
            published = number
            while sum(asked) < number * reads and any(each.is_alive() for each in readers):
                time.sleep(0)
    finally:
        is_over = True
        for reader in readers:
            reader.join()
        sys.setswitchinterval(before)
    assert not wrong, (seed, wrong[:3])
    return sum(asked)


def unit(seed: int) -> int:
    return watched(seed, STEPS, READS)


PROMISE = Promise("reads", "a call, in one of three threads, while images are published", unit)
