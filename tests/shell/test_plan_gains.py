"""``plan --no-new-access`` and ``--only-gain``: a change gives no more access than is stated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from authorizer.analysis.cells.gains import GainProof, prove_gains
from shell.main import main
from shell.tasks.plans import gains
from tests.support.disk.written_log import formatted

OWNS = "owns: [{resourceType: Topic, resourceName: pay, patternType: Prefixed}]\nacls:\n"
LITERALS = "- {principal: User:b, operation: Read, resourceType: Topic, resourceName: pay-eu}\n"
PREFIX = LITERALS.replace("pay-eu", "pay-, patternType: Prefixed")
ONLY = "allow: {principal: User:b, operation: [Read, Describe], resource: topic:pay-*}"
OTHERS = "- {principal: User:z, operation: Write, resourceType: Topic, resourceName: pay-us}\n"


class World:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.target = str(formatted(folder / "node"))
        self.plan = folder / "plan.json"
        self._wanted = folder / "wanted.yaml"
        self._capsys = capsys

    def run(self, verb: str, acls: str | None, *options: str) -> int:
        """With ``acls`` as WANTED, or with the saved plan."""
        self._wanted.write_text(OWNS + (acls or ""))
        given = self.plan if acls is None else self._wanted
        return main([verb, self.target, str(given), *options])

    def has(self, acls: str) -> None:
        assert self.run("apply", acls, "--prune", "--yes") == 0

    def kafka_acls(self, *options: str) -> None:
        """A change by another team."""
        assert main(["kafka-acls", self.target, *options]) == 0

    @property
    def error(self) -> str:
        return self._capsys.readouterr().err.splitlines()[-1]


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> World:
    found = World(tmp_path, capsys)
    found.has(LITERALS)
    return found


def test_new_access_is_refused_with_a_witness(world: World) -> None:
    assert world.run("plan", PREFIX, "--prune", "--no-new-access") == 2
    assert world.error == (
        "metalog: the plan may add no new access, but User:b would gain READ on topic pay-x from"
        " 10.0.0.1"
    )
    assert world.run("apply", PREFIX, "--prune", "--yes", "--no-new-access") == 2
    implied = LITERALS + LITERALS.replace("Read", "Describe")
    assert world.run("plan", implied, "--no-new-access") == 0
    assert world.run("plan", "", "--prune", "--no-new-access") == 0


def test_no_more_is_gained_than_is_stated(world: World, tmp_path: Path) -> None:
    assert world.run("plan", PREFIX, "--only-gain", ONLY) == 0
    narrow = ONLY.replace("pay-*", "pay-us")
    assert world.run("plan", PREFIX, "--only-gain", narrow) == 2
    assert (
        "the plan may add only the access of --only-gain, but User:b would gain READ on topic pay-x"
        in world.error
    )
    both = ("--only-gain", narrow, "--only-gain", ONLY.replace("User:b", "any"))
    assert world.run("plan", PREFIX, *both) == 0
    claims = tmp_path / "may-gain.yaml"
    claims.write_text(ONLY)
    assert world.run("plan", PREFIX, "--only-gain", str(claims)) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--no-new-access", "--only-gain", ONLY), "not both"),
        (("--only-gain", ONLY.replace("allow", "deny")), "states what may be gained; write allow:"),
        (("--only-gain", ONLY.replace("Read", "Raed")), "--only-gain claim 1, line 1, column 40"),
    ],
)
def test_a_wrong_limit_is_one_line(world: World, options: tuple[str, ...], said: str) -> None:
    assert world.run("plan", PREFIX, *options) == 2
    assert said in world.error


def test_a_plan_that_is_saved_is_proven_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def counting(*sets: Any) -> GainProof:
        calls.append(sets)
        return prove_gains(*sets)

    monkeypatch.setattr(gains, "prove_gains", counting)
    save = ("--no-new-access", "--save", str(world.plan))
    assert world.run("plan", LITERALS.replace("Read", "Describe"), *save) == 0
    assert len(calls) == 1


def test_the_proof_is_kept_and_made_again_for_the_target_as_it_is(world: World) -> None:
    """A change by another team inside the files' own names is harmless while the proof holds."""
    save = ("--prune", "--only-gain", ONLY, "--save", str(world.plan))
    assert world.run("plan", PREFIX, *save) == 0
    proof = json.loads(world.plan.read_text())["proof"]
    assert proof["onlyGain"] == [ONLY]
    assert int(proof["cells"]) > 0
    world.has(LITERALS + OTHERS)
    assert world.run("apply", None) == 0
    assert world.run("apply", None) == 0  # nothing is left to do


def test_options_of_apply_hold_whatever_the_saved_plan_states(world: World) -> None:
    """The file is plain text: its author can widen its own limit, not that of the options."""
    deny = ("--deny-principal", "User:b", "--operation", "All", "--topic", "*")
    world.kafka_acls("--add", *deny)
    save = ("--prune", "--no-new-access", "--save", str(world.plan))
    assert world.run("plan", PREFIX, *save) == 0
    world.kafka_acls("--remove", "--force", *deny)
    saved = world.plan.read_text()
    world.plan.write_text(saved.replace('"onlyGain": []', f'"onlyGain": {json.dumps([ONLY])}'))
    assert world.run("apply", None, "--no-new-access") == 2
    assert "the plan may add no new access, but User:b would gain READ on topic pay-" in world.error
    assert world.run("apply", None, "--only-gain", ONLY.replace("pay-*", "pay-us")) == 2
    world.plan.write_text(saved)
    assert world.run("apply", None, "--only-gain", ONLY) == 2  # both must hold
    assert "no new access" in world.error
    world.plan.write_text(saved.replace('"onlyGain": []', f'"onlyGain": {json.dumps([ONLY])}'))
    assert world.run("apply", None, "--only-gain", ONLY) == 0
    assert world.error == (
        "note: proven for the target as it is: nobody gains access but User:b may READ or DESCRIBE"
        " topics that begin with pay-; with super.users none and the default DENIED"
    )


def test_a_proof_that_does_not_hold_any_more_is_refused(world: World) -> None:
    deny = ("--deny-principal", "User:b", "--operation", "All", "--topic", "*")
    world.kafka_acls("--add", *deny)
    save = ("--prune", "--no-new-access", "--save", str(world.plan))
    assert world.run("plan", PREFIX, *save) == 0  # the DENY stands against it
    world.kafka_acls("--remove", "--force", *deny)
    assert world.run("apply", None) == 2
    assert "the plan may add no new access, but User:b would gain READ on topic pay-" in world.error


def test_a_plan_that_takes_more_than_it_was_to_take_is_refused(world: World) -> None:
    redundant = LITERALS + PREFIX
    world.has(redundant)
    save = ("--prune", "--no-new-access", "--save", str(world.plan))
    assert world.run("plan", PREFIX, *save) == 0  # the literal goes, and nobody loses anything
    prefix = ("--topic", "pay-", "--resource-pattern-type", "prefixed")
    world.kafka_acls(
        "--remove", "--force", "--allow-principal", "User:b", "--operation", "Read", *prefix
    )
    assert world.run("apply", None) == 2
    assert world.error.startswith(
        "metalog: the target has changed since this plan was made: User:b would lose READ on topic"
        " pay-eu from 10.0.0.1, which was not planned"
    )
