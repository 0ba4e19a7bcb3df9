"""A change of ACLs invalidates only the cached decisions that it concerns."""

from __future__ import annotations

import gc
import random

import pytest

from authorizer import (
    Acl,
    Action,
    Operation,
    PatternType,
    PermissionType,
    RequestContext,
    ResourcePattern,
    ResourceType,
    StandardAuthorizer,
)
from authorizer.engine.cache import remembered
from authorizer.engine.index import AclIndex
from authorizer.kafka_version import KafkaVersion
from metalog.ids import Uuid
from tests.support.worlds import spec

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
NAMES = ("", "a", "ab", "abc", "b", "*", "*a")
HOSTS = ("1.1.1.1", "2.2.2.2")
CONTEXTS = [
    RequestContext(principal, host, additional_principals=additional)
    for principal in ("User:a", "User:b")
    for host in HOSTS
    for additional in ((), ("Group:a",))
]
OPERATIONS = (Operation.READ, Operation.WRITE, Operation.DESCRIBE)
STEPS = 150


def _id(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


def _chosen() -> Acl:
    return Acl(
        random.choice((TOPIC, TOPIC, GROUP)),
        random.choice(NAMES),
        random.choice((LITERAL, PREFIXED)),
        random.choice(("User:a", "User:b", "User:*", "Group:a")),
        random.choice(("*", "*", *HOSTS, "1.0.0.0/8")),
        random.choice((Operation.ALL, *OPERATIONS)),
        random.choice((PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY)),
    )


@pytest.mark.parametrize("default", [False, True])
@pytest.mark.parametrize("often", [0, 2])
def test_all_answers_between_changes_are_the_specs(
    often: int, default: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "ADMISSION_THRESHOLD", often)
    kafka = random.choice(list(KafkaVersion))
    authorizer = StandardAuthorizer.from_acls((), allow_everyone=default, kafka_version=kafka.value)
    acls: dict[int, Acl] = {}
    for number in range(STEPS):
        if acls and random.random() < 0.4:
            gone = random.choice(list(acls))
            del acls[gone]
            authorizer.remove_acl(_id(gone))
        else:
            acls[number] = _chosen()
            authorizer.add_acl(_id(number), acls[number])
        if number % 10 == 0:  # so that changes meet an index that was loaded at once
            authorizer.load_snapshot({_id(each): acl for each, acl in acls.items()})
        for _ in range(12):
            context = random.choice(CONTEXTS)
            who = {context.principal, *context.additional_principals}, context.host
            kind, name = random.choice((TOPIC, GROUP)), random.choice(NAMES)
            operation = random.choice(OPERATIONS)
            asked = (acls.values(), who, operation, kind)
            expected = spec.decide(*asked, name, default, kafka)
            action = Action(operation, ResourcePattern(kind, name))
            said = (context, action, acls)
            assert authorizer.is_allowed(context, action) == bool(expected.result), said
            assert list(authorizer.authorize(context, [action] * 2)) == [expected.result] * 2, said
            assert authorizer.decide(context, action) == expected, said
        by_type = spec.is_allowed_by_resource_type(*asked, default, kafka)
        assert bool(authorizer.authorize_by_resource_type(context, operation, kind)) == by_type


def _remembers(authorizer: StandardAuthorizer, context: RequestContext) -> set[tuple[str, str]]:
    answers = authorizer._decision_context.session(context.identity)
    return {(kind.name, name) for kind in ResourceType for name in answers.verdicts[kind]}


TEN = {(kind, name) for kind in ("TOPIC", "GROUP") for name in ("p1", "p2", "p3", "q1", "q2")}


@pytest.mark.parametrize(
    ("name", "pattern_type", "principal", "forgotten_by_a", "forgotten_by_b"),
    [
        ("p1", LITERAL, "User:a", {"p1"}, set()),
        ("p1", LITERAL, "User:c", set(), set()),
        ("p1", LITERAL, "User:*", {"p1"}, {"p1"}),
        ("p", PREFIXED, "User:a", {"p1", "p2", "p3"}, set()),
        ("*", LITERAL, "User:b", set(), {"p1", "p2", "p3", "q1", "q2"}),
    ],
)
def test_other_types_names_and_principals_stay_remembered(
    name: str,
    pattern_type: PatternType,
    principal: str,
    forgotten_by_a: set[str],
    forgotten_by_b: set[str],
) -> None:
    sessions = {each: RequestContext(f"User:{each}", "h") for each in ("a", "b")}
    authorizer = StandardAuthorizer.from_acls(
        [Acl(TOPIC, "x", LITERAL, "User:x", "*", Operation.READ, PermissionType.ALLOW)]
    )
    actions = [
        Action(Operation.READ, ResourcePattern(ResourceType[kind], name)) for kind, name in TEN
    ]
    for context in sessions.values():
        authorizer.authorize(context, actions)
        assert _remembers(authorizer, context) == TEN
    changed = Acl(TOPIC, name, pattern_type, principal, "*", Operation.READ, PermissionType.ALLOW)
    for change in (authorizer.add_acl, lambda uuid, _: authorizer.remove_acl(uuid)):
        change(_id(99), changed)
        for each, forgotten in (("a", forgotten_by_a), ("b", forgotten_by_b)):
            left = TEN - {("TOPIC", topic) for topic in forgotten}
            assert _remembers(authorizer, sessions[each]) == left
            authorizer.authorize(sessions[each], actions)


def test_what_is_worked_out_before_a_change_and_remembered_after_it_is_not_answered() -> None:
    """A thread computes an answer while another publishes a change and opens the session."""
    authorizer = StandardAuthorizer.from_acls(())
    context = RequestContext("User:a", "h")
    allow = Acl(TOPIC, "p", LITERAL, "User:a", "*", Operation.READ, PermissionType.ALLOW)
    authorizer.add_acl(_id(1), allow)
    topics_before = authorizer._decision_context.session(context.identity).of_type(TOPIC)
    authorizer.remove_acl(_id(1))
    about_a_group = Action(Operation.READ, ResourcePattern(GROUP, "g"))
    authorizer.authorize(context, [about_a_group] * 2)
    topics_before.on("p")
    about_it = Action(Operation.READ, ResourcePattern(TOPIC, "p"))
    assert not any(map(bool, authorizer.authorize(context, [about_it] * 2)))
    assert not authorizer.is_allowed(context, about_it)


def test_a_default_that_allows_is_forgotten_by_all_when_a_pattern_comes() -> None:
    authorizer = StandardAuthorizer.from_acls((), allow_everyone=True)
    context, action = (
        RequestContext("User:a", "h"),
        Action(Operation.READ, ResourcePattern(TOPIC, "p")),
    )
    acl = Acl(TOPIC, "p", LITERAL, "User:b", "*", Operation.READ, PermissionType.ALLOW)
    assert list(map(bool, authorizer.authorize(context, [action] * 2))) == [True] * 2
    authorizer.add_acl(_id(1), acl)
    assert not authorizer.is_allowed(context, action)
    authorizer.remove_acl(_id(1))
    assert authorizer.is_allowed(context, action)


def test_old_indexes_are_let_go_after_some_changes() -> None:
    authorizer = StandardAuthorizer.from_acls(())
    context, actions = (
        RequestContext("User:a", "h"),
        [Action(Operation.READ, ResourcePattern(TOPIC, "p"))],
    )
    first = authorizer._decision_context._remembered
    kept = 0
    for number in range(3 * remembered.MOST_CHANGES):
        authorizer.authorize(context, actions * 2)
        authorizer.add_acl(
            _id(number), _chosen()._replace(principal="User:b", resource_name=f"{number}")
        )
        kept += authorizer._decision_context._remembered is first
    assert kept == remembered.MOST_CHANGES


def test_no_old_index_waits_for_the_collector() -> None:
    """A node takes what is there out of the collector's reach from time to time."""
    authorizer = StandardAuthorizer()
    authorizer.complete_initial_load()

    def answer(number: int) -> None:
        for context in CONTEXTS * (remembered.ADMISSION_THRESHOLD + 1):
            action = Action(Operation.READ, ResourcePattern(TOPIC, f"t{number}"))
            authorizer.is_allowed(context, action)

    gc.collect()
    gc.disable()
    try:
        before = indexes()
        for number in range(5):
            authorizer.load_snapshot({_id(1): _chosen()})
            answer(number)
        for number in range(2 * remembered.MOST_CHANGES):
            authorizer.add_acl(_id(2 + number), _chosen())
            answer(number)
        assert indexes() - before <= remembered.MOST_CHANGES
        authorizer.load_snapshot({})
        assert indexes() <= before
    finally:
        gc.enable()


def indexes() -> int:
    return sum(type(each) is AclIndex for each in gc.get_objects())
