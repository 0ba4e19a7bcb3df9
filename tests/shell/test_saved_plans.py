"""The dependencies of a saved plan: its files' own ACLs, and the answers that it changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from authorizer.config import AuthorizerConfig
from metalog.acl import Acl
from metalog_sources.formats.yaml import read_yaml
from metalog_sources.targets.plan import SavedPlan, after, make_plan
from shell.main import main
from shell.tasks.plans.saved import changed_since, plan_to_save
from tests.support.disk.written_log import formatted

WANTED = """\
owns: [{resourceType: Topic, resourceName: pay-, patternType: prefixed}]
acls:
  - {principal: User:app, operation: Read, resourceType: Topic, resourceName: pay-eu}
"""
CURRENT = """\
- {principal: User:old, operation: Read, resourceType: Topic, resourceName: pay-us}
- {principal: User:other, operation: Read, resourceType: Topic, resourceName: orders}
"""


def acls_of(text: str) -> set[Acl]:
    return set(read_yaml(text, "here").acls)


def acl(principal: str, operation: str, name: str, more: str = "") -> set[Acl]:
    said = f"principal: {principal}, operation: {operation}, resourceType: Topic"
    return acls_of(f"- {{{said}, resourceName: '{name}'{more}}}\n")


@pytest.fixture
def plan() -> SavedPlan:
    current = acls_of(CURRENT)
    made = make_plan(current, read_yaml(WANTED, "wanted.yaml"), prune=True)
    return plan_to_save("memory", current, made, AuthorizerConfig())


def changes_since(plan: SavedPlan, now: set[Acl]) -> Sequence[str]:
    return [str(each) for each in changed_since(plan, now, AuthorizerConfig())]


@pytest.mark.parametrize(
    "other",
    [
        acl("User:x", "Read", "orders"),
        acl("User:x", "Read", "pay"),
        acl("User:x", "All", "*"),
        acl("User:app", "Write", "orders", ", permissionType: deny"),
        acls_of(
            "- {principal: User:app, operation: Read, resourceType: Group, resourceName: pay-}"
        ),
    ],
)
def test_what_others_do_is_no_concern_of_it(plan: SavedPlan, other: set[Acl]) -> None:
    current = acls_of(CURRENT)
    assert changes_since(plan, current | other) == []
    assert changes_since(plan, current - acl("User:other", "Read", "orders") | other) == []
    for taken in range(len(plan.steps) + 1):
        assert changes_since(plan, after(current, plan.steps[:taken]) | other) == []


@pytest.mark.parametrize(
    ("came", "went", "said"),
    [
        (
            acl("User:x", "Read", "pay-x"),
            set(),
            "ALLOW User:x READ on topic pay-x from any host was added: the plan's files own it",
        ),
        (
            acl("User:*", "Read", "*", ", permissionType: deny, host: 10.0.0.1"),
            set(),
            "DENY User:* READ on topic * from 10.0.0.1 was added: READ on topic pay-eu for "
            "User:app was planned to become ALLOWED, and would become DENIED",
        ),
        (
            acl("User:old", "All", "p", ", patternType: prefixed"),
            set(),
            "ALLOW User:old ALL on topic names that begin with p from any host was added: READ on "
            "topic pay-us for User:old was planned to become DENIED, and would become ALLOWED",
        ),
    ],
)
def test_what_changes_what_it_owns_or_its_effect_is_named(
    plan: SavedPlan, came: set[Acl], went: set[Acl], said: str
) -> None:
    assert changes_since(plan, (acls_of(CURRENT) | came) - went)[0] == said


def test_a_plan_that_would_take_a_last_grant_is_refused() -> None:
    """The plan removed one of two grants, and somebody else has removed the other."""
    current = acl("User:app", "Read", "pay-eu") | acl("User:app", "Read", "*")
    made = make_plan(current, read_yaml(WANTED.partition("acls:")[0], "w"), prune=True)
    plan = plan_to_save("memory", current, made, AuthorizerConfig())
    (said,) = changes_since(plan, acl("User:app", "Read", "pay-eu"))
    assert said.startswith("ALLOW User:app READ on topic * from any host was removed: ")
    assert said.endswith(" on topic pay-eu for User:app would become DENIED, which was not planned")


def test_a_plan_of_an_older_metalog_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, target = tmp_path / "plan.json", formatted(tmp_path / "node")
    plan.write_text('{"metalogPlan":"1","target":"x","before":"","steps":[\n]}\n')
    assert main(["apply", str(target), str(plan)]) == 2
    assert capsys.readouterr().err == (
        f"metalog: {plan}, line 1, column 1: a saved plan of version 1, but this metalog reads "
        "version 4; make a new one with metalog plan --save\n"
    )


def test_a_saved_plan_is_not_planned_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, target = tmp_path / "plan.json", formatted(tmp_path / "node")
    plan.write_text('{"metalogPlan":"4","target":"x","before":"","steps":[\n]}\n')
    assert main(["plan", str(target), str(plan)]) == 2
    said = f"metalog: {plan}: a saved plan already; use metalog apply TARGET {plan}\n"
    assert capsys.readouterr().err == said


def test_a_plan_is_bound_to_the_configuration_by_which_it_was_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its lock-out and its effects depend on super users and the default rule."""
    target, wanted = str(formatted(tmp_path / "node")), tmp_path / "wanted.yaml"
    plan = str(tmp_path / "plan.json")
    admin = "principal: User:admin, operation: All, resourceType: Cluster"
    wanted.write_text(
        f"owns: [{{resourceType: Cluster}}]\nacls:\n- {{{admin}, resourceName: kafka-cluster}}\n"
    )
    assert main(["apply", target, str(wanted), "--yes"]) == 0
    wanted.write_text("owns: [{resourceType: Cluster}]\nacls: []\n")
    judged = ("--super-users", "User:root")
    assert main(["plan", target, str(wanted), "--prune", "--save", plan, *judged]) == 0
    capsys.readouterr()
    for other in (("--super-users", ""), (*judged, "--allow-everyone")):
        assert main(["apply", target, plan, *other]) == 2
        said = capsys.readouterr().err.splitlines()[-1]
        assert "this plan was made with super.users User:root and the default DENIED" in said
    assert main(["apply", target, plan]) == 0


def test_a_plan_is_bound_to_the_kafka_that_reads_its_hosts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KIP-1276: the same ACL grants more than before."""
    target, wanted = str(formatted(tmp_path / "node")), tmp_path / "wanted.yaml"
    plan = str(tmp_path / "plan.json")
    for host, code in (("10.0.0.1", 0), ("10.0.0.0/8", 2)):
        wanted.write_text(
            "- {principal: User:app, operation: Read, resourceType: Topic, resourceName: pay,"
            f" host: {host}}}\n"
        )
        assert main(["plan", target, str(wanted), "--save", plan, "--kafka", "4.4"]) == 0
        capsys.readouterr()
        assert main(["apply", target, plan]) == code
    assert capsys.readouterr().err.splitlines()[-1] == (
        "metalog: this plan was made for Kafka 4.4, and now Kafka 4.3 decides, which reads "
        "CIDR hosts differently; make a new plan with metalog plan, or give --kafka 4.4"
    )
    for told in (("--super-users", ""), ()):
        assert main(["apply", target, plan, *told, "--kafka", "4.4"]) == 0
