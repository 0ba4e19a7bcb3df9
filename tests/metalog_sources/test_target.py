"""A plan is applied phase by phase, and a second run completes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.acl import Acl, Operation
from metalog.controller.acl_hosts import AclVersions
from metalog.errors import InvalidTarget
from metalog.image.state.features import FeaturesImage
from metalog_sources.formats.document import AclEntry, Document, Own
from metalog_sources.live.zookeeper import ZookeeperStore
from metalog_sources.source import open_source
from metalog_sources.targets.plan import ChangeKind, PlanStep, make_plan, remaining, saved
from metalog_sources.targets.target import (
    accepts_blocks,
    carry_out,
    refuse_unwritable,
    refused_steps,
    target_of,
)
from tests.support.kafka.cases import kafka_case
from tests.support.worlds.acl_files import similar_acls
from tests.support.worlds.memory_target import MemoryTarget
from tests.support.worlds.small_acls import allow, deny

sets_of_acls = st.lists(similar_acls, max_size=10)


def wanting(acls: list[Acl]) -> Document:
    return Document(tuple(map(AclEntry, acls)), (Own(),))


@given(sets_of_acls, sets_of_acls, st.integers(0, 4))
def test_interrupted_and_run_again(current: list[Acl], wanted: list[Acl], fails_after: int) -> None:
    target = MemoryTarget(current, fails_after=fails_after)
    plan = make_plan(current, wanting(wanted), prune=True)
    kept = saved("memory", (), current, plan)
    try:
        carry_out(target, plan.steps)
    except InvalidTarget as error:
        assert_message(str(error), len(plan.steps))
    again = MemoryTarget(sorted(target.acls))
    carry_out(again, remaining(kept, again.acls))
    assert again.acls == set(wanted)
    assert len(target.requests) <= 4


def assert_message(said: str, total: int) -> None:
    assert said.startswith("memory: cannot: it broke; ")
    assert re.search(rf"of {total:,} changes? (was|were) made", said)
    assert said.endswith("run the command again to finish")


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
    denying = deny("t", principal="User:a")
    target = MemoryTarget([], only_allows=True)
    plan = make_plan([], wanting([denying]), prune=True)
    with pytest.raises(InvalidTarget, match="cannot add DENY User:a READ on TOPIC t: it is a DENY"):
        refuse_unwritable(target, plan.steps)


def test_a_file_is_no_target(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("acls: []")
    with pytest.raises(
        InvalidTarget, match=r"cannot be the first argument \(TARGET\); give cluster://"
    ):
        target_of(open_source(str(path), environ={}))


def test_the_log_of_the_demo_is_not_a_target() -> None:
    with pytest.raises(InvalidTarget, match=r"@demo: belongs to the installed package .* copy /"):
        target_of(open_source("@demo", environ={}))


READ = allow("t", principal="User:a")


def adding(*acls: Acl) -> list[PlanStep]:
    return [PlanStep(ChangeKind.ADD, acl) for acl in acls]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"resource_name": "a/b"}, "stores no name with a slash"),
        ({"resource_name": ".."}, "no node of ZooKeeper can have that name"),
        ({"operation": Operation.TWO_PHASE_COMMIT}, "has TWO_PHASE_COMMIT"),
        ({"principal": f"User:{'x' * 32_763}"}, "has 32,768 bytes in UTF-8"),
        ({"resource_name": ""}, "Invalid empty resource name"),
    ],
)
def test_what_a_zookeeper_cannot_hold_is_known_without_it(
    changed: dict[str, object], said: str
) -> None:
    steps = adding(READ, READ._replace(**changed))  # type: ignore[arg-type]
    ((step, why),) = refused_steps(ZookeeperStore("zookeeper://a:1"), steps)
    assert step == steps[1]
    assert said in why


def test_too_many_acls_of_one_resource_are_known_before_the_first_is_written() -> None:
    """Existing ACLs count, also those to be removed, since removal comes last."""
    many = [READ._replace(principal=f"User:{'x' * 300}{number}") for number in range(3_000)]
    other = READ._replace(resource_name="u")
    store = ZookeeperStore("zookeeper://a:1")
    refused = refused_steps(store, adding(READ, other), many)
    assert [step.acl for step, _ in refused] == [READ]
    assert "more than a node of ZooKeeper holds" in refused[0][1]
    removing = [PlanStep(ChangeKind.REMOVE, acl) for acl in many[1_000:]]
    assert refused_steps(store, [*adding(READ), *removing], many)
    assert not refused_steps(store, removing, many)


def test_a_block_is_proposed_to_a_file_but_not_to_zookeeper(tmp_path: Path) -> None:
    """The last Kafka with ZooKeeper, 3.9, compares hosts as text; a file may become a 4.4's."""
    file = tmp_path / "acls.yaml"
    file.write_text("acls: []")
    accepted = {
        text: accepts_blocks(open_source(text, environ={}), FeaturesImage(33))
        for text in (str(file), str(tmp_path), "zookeeper://a:1")
    }
    assert accepted == {str(file): True, str(tmp_path): True, "zookeeper://a:1": False}


class TargetOfKafka(MemoryTarget):
    """A TARGET of Kafka 4.4, at a metadata.version before blocks."""

    def acl_versions(self) -> AclVersions:
        return AclVersions("4.4", 31)


def test_a_host_that_the_targets_kafka_refuses_is_known_before_the_first_is_written() -> None:
    """An existing ACL can be removed, whatever its host."""
    block = READ._replace(host="10.0.0.0/8")
    target = TargetOfKafka([block])
    steps = [*adding(READ, block._replace(resource_name="u")), PlanStep(ChangeKind.REMOVE, block)]
    [(step, why)] = refused_steps(target, steps)
    assert step == steps[1]
    assert why.startswith("CIDR-based ACL host patterns require metadata version 4.4-IV1")
    assert not refused_steps(MemoryTarget([]), steps)


def test_a_folders_kafka_is_known_by_its_metadata_version() -> None:
    """Only Kafka 4.4 reads such a log; it takes blocks, and no other host with a slash."""
    target = target_of(open_source(str(kafka_case("unstable-4.4").log_dir), environ={}))
    odd = READ._replace(host="10.0.0.0/33")
    [(_, why)] = refused_steps(target, adding(odd, READ._replace(host="10.0.0.0/32")))
    assert why == "Invalid CIDR notation '10.0.0.0/33': Value [33] not in range [0,32]"


def test_what_is_only_a_source_is_held_to_what_kafka_refuses() -> None:
    odd = READ._replace(operation=Operation.ANY)
    assert [why for _, why in refused_steps(object(), adding(READ, odd))] == [
        "Invalid operation ANY"
    ]
