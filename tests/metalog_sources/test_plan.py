"""A plan makes the target equal to WANTED, removes only owned ACLs, and opens nothing meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authorizer.config import AuthorizerConfig
from authorizer.trace import Question, trace
from metalog.acl import Acl, Operation, PermissionType
from metalog.errors import InvalidRequest
from metalog_sources.formats.document import AclEntry, AclNotes, Document, Own
from metalog_sources.targets.plan import (
    ChangeKind,
    PlanStep,
    after,
    make_plan,
    phases,
    read_saved,
    remaining,
    saved,
    write_saved,
)
from tests.support.worlds.acl_files import owns, similar_acls
from tests.support.worlds.small_acls import allow
from tests.support.worlds.small_world import worlds

sets_of_acls = st.lists(similar_acls, max_size=8)
ACL = allow("t", principal="User:a")
EVERYTHING = (Own(),)
HEAD = (
    '{"metalogPlan":"4","target":"x","superUsers":[],"allowEveryone":"false",'
    '"kafkaVersion":"4.3","owns":[]'
)


def wanting(acls: list[Acl], owned: tuple[Own, ...] = EVERYTHING) -> Document:
    return Document(tuple(AclEntry(acl) for acl in acls), owned)


@given(sets_of_acls, sets_of_acls, st.lists(owns, max_size=2), st.booleans())
def test_what_a_plan_leaves(
    current: list[Acl], wanted: list[Acl], owned: list[Own], prune: bool
) -> None:
    plan = make_plan(current, wanting(wanted, tuple(owned)), prune=prune)
    then = after(current, plan.steps)
    assert set(wanted) <= then
    spare = set(current) - set(wanted)
    mine = {acl for acl in spare if any(own.covers(acl) for own in owned)}
    assert then == set(wanted) | (spare - mine if prune else spare)
    assert set(plan.unowned) == spare - mine
    assert set(plan.unpruned) == (set() if prune else mine)
    assert make_plan(then, wanting(wanted, tuple(owned)), prune=prune).steps == ()
    assert plan == make_plan(current[::-1], wanting(wanted[::-1], tuple(owned)), prune=prune)


@given(worlds, worlds)
def test_no_window_is_opened(
    before: tuple[list[Acl], AuthorizerConfig, Question],
    wanted: tuple[list[Acl], AuthorizerConfig, Question],
) -> None:
    """A request denied before and after is denied at every step, in any phase. Excluded: with an
    allowing default rule, the first ACL of a resource denies others."""
    config = AuthorizerConfig()
    question = before[2]
    current = set(before[0])
    steps = make_plan(current, wanting(wanted[0]), prune=True).steps

    def allowed(acls: set[Acl]) -> bool:
        return trace(acls, config, question).allowed

    ever = allowed(current) or allowed(after(current, steps))
    for count in range(len(steps)):
        assert ever or not allowed(after(current, steps[:count]))


def test_the_phases() -> None:
    deny = ACL._replace(permission_type=PermissionType.DENY)
    other = [acl._replace(resource_name="u") for acl in (ACL, deny)]
    plan = make_plan([ACL, deny], wanting(other), prune=True)
    said = [(step.change, step.acl.permission_type) for step in plan.steps]
    assert said == [
        (ChangeKind.ADD, PermissionType.DENY),
        (ChangeKind.ADD, PermissionType.ALLOW),
        (ChangeKind.REMOVE, PermissionType.ALLOW),
        (ChangeKind.REMOVE, PermissionType.DENY),
    ]
    assert [len(phase) for phase in phases(plan.steps)] == [1, 1, 1, 1]
    assert plan.removals == 2


@given(sets_of_acls, sets_of_acls)
def test_an_interrupted_plan_is_finished_by_a_second_run(
    current: list[Acl], wanted: list[Acl]
) -> None:
    plan = make_plan(current, wanting(wanted), prune=True)
    made = saved("cluster://x", (), current, plan)
    read = read_saved(write_saved(made), "plan.json")
    assert read == made
    assert (read.target, read.steps) == ("cluster://x", plan.steps)
    for count in range(len(plan.steps) + 1):
        between = after(current, plan.steps[:count])
        assert remaining(read, between) == list(plan.steps[count:])


@given(sets_of_acls, st.lists(owns, max_size=2), sets_of_acls)
def test_a_saved_plan_keeps_what_is_owned_and_what_it_is_told(
    current: list[Acl], owned: list[Own], reached: list[Acl]
) -> None:
    plan = make_plan(current, wanting([], tuple(owned)), prune=True)
    made = saved("x", reached, current, plan)
    assert {*made.before} == {*reached, *(step.acl for step in plan.steps)}
    assert made.owns == tuple(owned)
    assert read_saved(write_saved(made), "p") == made


def test_a_saved_plan_holds_what_kafka_would_not_create() -> None:
    """An odd log may have such an ACL."""
    odd = ACL._replace(operation=Operation.UNKNOWN, resource_name="", principal="nobody")
    made = saved("x", [odd], [], make_plan([], wanting([]), prune=True))
    assert read_saved(write_saved(made), "p") == made


@pytest.mark.parametrize("odd", [allow(""), allow("t", principal="colonless"), allow("t", host="")])
def test_a_saved_plan_removes_what_kafka_would_not_create(odd: Acl) -> None:
    plan = make_plan([odd], wanting([])._replace(owns=(Own(),)), prune=True)
    made = saved("x", (), [odd], plan)
    assert made.removed == {odd}
    assert read_saved(write_saved(made), "p") == made


def test_notes_are_kept_in_a_saved_plan() -> None:
    notes = AclNotes("why", "me", "T-1", "2026-12-31")
    plan = make_plan([], Document((AclEntry(ACL, notes),)), prune=False)
    assert plan.steps == (PlanStep(ChangeKind.ADD, ACL, notes),)
    read = read_saved(write_saved(saved("x", (), [], plan)), "p")
    assert read is not None
    assert read.steps == plan.steps


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"metalogPlan":"1","target":"x","before":"","steps":[]}',
            "p, line 1, column 1: a saved plan of version 1, but this metalog reads version 4; "
            "make a new one with metalog plan --save",
        ),
        ('{"metalogPlan":"5","more":[]}', "a saved plan of version 5, but this metalog reads"),
        (HEAD + ',"steps":[]}', "a saved plan lacks the key before"),
        (
            HEAD + ',"proof":{"onlyGain":[],"questions":"1"},"before":[],"steps":[]}',
            "a proof of another version of metalog; make a new plan with metalog plan --save",
        ),
        (
            HEAD.replace('"false"', '"no"') + ',"before":[],"steps":[]}',
            "allowEveryone is no; write true or false",
        ),
        (f'{HEAD},"before":[],"steps":[{{"change":"ad"}}]}}', "is add or remove, not 'ad'"),
        (f'{HEAD},"before":[],"steps":[{{}}]}}', "a step lacks the key change"),
        (f'{HEAD},"before":[{{}}],"steps":[]}}', "an ACL lacks the key resourceType"),
        (f'{HEAD},"before":7,"steps":[]}}', "before is not a list"),
    ],
)
def test_a_damaged_plan(text: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        read_saved(text, "p")


def test_a_file_of_acls_is_no_plan() -> None:
    assert read_saved('{"resourceType":"TOPIC"}', "p") is None
    assert read_saved("", "p") is None
