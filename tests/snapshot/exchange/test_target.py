"""How a plan is carried out: a phase after the other, and finished by a second run."""

from __future__ import annotations

from pathlib import Path

import pytest
from acl_files import similar_acls
from hypothesis import given
from hypothesis import strategies as st
from memory_target import MemoryTarget

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidTarget
from snapshot.exchange.formats.document import Document, Entry, Own
from snapshot.exchange.plan import make_plan, remaining, saved
from snapshot.exchange.source import open_source
from snapshot.exchange.target import carry_out, refuse_unwritable, target_of

sets_of_acls = st.lists(similar_acls, max_size=10)


def wanting(acls: list[Acl]) -> Document:
    return Document(tuple(map(Entry, acls)), (Own(),))


@given(sets_of_acls, sets_of_acls, st.integers(0, 4))
def test_interrupted_and_run_again(current: list[Acl], wanted: list[Acl], fails_after: int) -> None:
    target = MemoryTarget(current, fails_after=fails_after)
    plan = make_plan(current, wanting(wanted), prune=True)
    kept = saved("memory", (), current, plan)
    try:
        carry_out(target, plan.steps)
    except InvalidTarget as error:
        assert_said(str(error), len(plan.steps))
    again = MemoryTarget(sorted(target.acls))
    carry_out(again, remaining(kept, again.acls))
    assert again.acls == set(wanted)
    assert len(target.requests) <= 4


def assert_said(said: str, total: int) -> None:
    assert said.startswith("memory: cannot: it broke; ")
    assert f"of {total:,} changes were made before" in said
    assert said.endswith("run it again to finish")


@given(sets_of_acls, sets_of_acls)
def test_one_request_a_phase_and_progress(current: list[Acl], wanted: list[Acl]) -> None:
    target = MemoryTarget(current)
    plan = make_plan(current, wanting(wanted), prune=True)
    progress: list[int] = []
    carry_out(target, plan.steps, progress.append)
    assert [acl for request in target.requests for acl in request] == [
        step.acl for step in plan.steps
    ]
    assert progress[-1:] == ([len(plan.steps)] if plan.steps else [])


def test_what_cannot_be_written_is_refused_first() -> None:
    deny = Acl(
        ResourceType.TOPIC,
        "t",
        PatternType.LITERAL,
        "User:a",
        "*",
        Operation.READ,
        PermissionType.DENY,
    )
    target = MemoryTarget([], only_allows=True)
    plan = make_plan([], wanting([deny]), prune=True)
    with pytest.raises(InvalidTarget, match="cannot add DENY User:a READ on TOPIC t: it is a DENY"):
        refuse_unwritable(target, plan.steps)


def test_a_file_is_no_target(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("acls: []")
    with pytest.raises(InvalidTarget, match="cannot be written to; give cluster://"):
        target_of(open_source(str(path), environ={}))
