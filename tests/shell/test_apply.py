"""``metalog apply`` at a terminal and interrupted, on a target in memory."""

from __future__ import annotations

import io
import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

import shell.inputs.planning
import shell.verbs.change.apply
from metalog.acl import Acl, PermissionType
from metalog_sources.formats.yaml import read_yaml
from metalog_sources.source import Source
from shell.main import main
from shell.output.output import Output
from tests.support.worlds.memory_target import MemoryTarget

BEFORE = "- {principal: User:old, operation: Read, resourceType: Topic, resourceName: team-a}\n"
WANTED = """\
owns: [{resourceType: Topic, resourceName: team-, patternType: prefixed}]
acls:
  - {principal: [User:a, User:b], operation: Read, resourceType: Topic, resourceName: team-a}
  - {principal: User:a, operation: All, resourceType: Topic, resourceName: team-a,
     host: 10.0.0.9, permissionType: deny}
"""
SUPER = ("--super-users", "User:root", "--no-allow-everyone")


def acls_of(text: str) -> set[Acl]:
    return set(read_yaml(text, "here").acls)


class Terminal(io.StringIO):
    """``on_read`` runs while the prompt waits."""

    on_read: Callable[[], None] = staticmethod(lambda: None)

    def isatty(self) -> bool:
        return True

    def readline(self, size: int = -1, /) -> str:
        self.on_read()
        return super().readline(size)


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> MemoryTarget:
    """The TARGET ``memory`` for both halves of apply."""
    made = MemoryTarget(acls_of(BEFORE))
    original = shell.inputs.planning.opened_source

    def opened(arguments: Namespace, output: Output) -> Source:
        if arguments.source != "memory":
            return original(arguments, output)
        return Source("memory", "cluster", made, "memory", None, None)

    monkeypatch.setattr(shell.inputs.planning, "opened_source", opened)
    monkeypatch.setattr(shell.verbs.change.apply, "opened_source", opened)
    monkeypatch.setattr(shell.verbs.change.apply, "target_of", lambda source: source.opened)
    return made


@pytest.fixture
def wanted(tmp_path: Path) -> str:
    (tmp_path / "wanted.yaml").write_text(WANTED)
    return str(tmp_path / "wanted.yaml")


def at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, typed: str, on_read: Callable[[], None] = lambda: None
) -> Terminal:
    stdin, stderr = Terminal(typed), Terminal()
    stdin.on_read = on_read
    monkeypatch.setattr("sys.stdin", stdin)
    monkeypatch.setattr("sys.stderr", stderr)
    return stderr


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("YES\n", 0), ("\n", 2), ("", 2)])
def test_a_person_is_asked(
    target: MemoryTarget, wanted: str, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    stderr = at_a_terminal(monkeypatch, typed)
    assert main(["apply", "memory", wanted, *SUPER, "--prune"]) == code
    assert "Make 4 changes? [y/N] " in stderr.getvalue()
    assert target.acls == acls_of(WANTED if code == 0 else BEFORE)


def test_what_changes_while_a_person_thinks_is_not_overrun(
    target: MemoryTarget, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stderr = at_a_terminal(monkeypatch, "y\n", target.acls.clear)
    assert main(["apply", "memory", wanted, *SUPER]) == 2
    said = " ".join(stderr.getvalue().split())
    assert (
        "the target has changed since this plan was made: ALLOW User:old READ on topic team-a from "
        "any host was removed: the plan's files own it; nothing was changed: run apply again"
    ) in said
    assert target.requests == []


def test_nobody_is_asked_where_nobody_is(
    target: MemoryTarget, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["apply", "memory", wanted, *SUPER]) == 2
    assert "not a terminal: to skip the prompt, pass " in capsys.readouterr().err
    assert main(["apply", "memory", wanted, *SUPER, "--yes"]) == 0
    assert target.acls == acls_of(WANTED) | acls_of(BEFORE)
    assert main(["apply", "memory", wanted, *SUPER]) == 0
    assert capsys.readouterr().out.endswith("Done.\nNothing to do.\n")


def test_what_has_nothing_to_do_with_it_may_change_while_a_person_thinks(
    target: MemoryTarget, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = acls_of(BEFORE.replace("team-a", "other"))
    at_a_terminal(monkeypatch, "y\n", lambda: target.acls.update(other))
    assert main(["apply", "memory", wanted, *SUPER, "--prune"]) == 0
    assert target.acls == acls_of(WANTED) | other


@pytest.mark.parametrize("requests", [0, 1, 2])
def test_interrupted_it_is_finished_by_running_it_again(
    target: MemoryTarget, wanted: str, requests: int, capsys: pytest.CaptureFixture[str]
) -> None:
    target.left = requests
    apply = ["apply", "memory", wanted, *SUPER, "--prune", "--yes"]
    assert main(apply) == 2
    assert "it broke; " in capsys.readouterr().err
    assert target.acls != acls_of(WANTED)
    target.left = 99
    assert main([*apply, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 4 - (0, 1, 3)[requests]
    assert target.acls == acls_of(WANTED)


@pytest.mark.parametrize("name", ["plan.json", "plan"])
def test_a_saved_plan_interrupted(
    target: MemoryTarget, wanted: str, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = str(tmp_path / name)
    assert main(["plan", "memory", wanted, *SUPER, "--prune", "--save", plan]) == 0
    target.left = 2
    assert main(["apply", "memory", plan, *SUPER]) == 2
    target.left = 99
    assert main(["apply", "memory", plan, *SUPER]) == 0
    assert target.acls == acls_of(WANTED)
    assert "made for" not in capsys.readouterr().err
    Path(plan).write_text(Path(plan).read_text().replace('"memory"', '"@staging"'))
    assert main(["apply", "memory", plan, *SUPER]) == 0
    assert "warning: this plan was made for @staging, not memory\n" in capsys.readouterr().err
    target.acls |= acls_of(BEFORE.replace("User:old", "User:new"))
    assert main(["apply", "memory", plan, *SUPER]) == 2
    assert "the target has changed since this plan was made" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["wanted.yaml"], "a saved plan must be the only WANTED"),
        (["--prune"], "a saved plan already states what is removed; omit --prune"),
        (["--max-removals", "0"], "more than --max-removals 0"),
    ],
)
def test_a_saved_plan_is_held_to_the_limits(
    target: MemoryTarget,
    wanted: str,
    tmp_path: Path,
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = str(tmp_path / "plan.json")
    assert main(["plan", "memory", wanted, *SUPER, "--prune", "--save", plan]) == 0
    assert main(["apply", "memory", plan, *arguments, *SUPER]) == 2
    assert said in capsys.readouterr().err
    assert target.requests == []


def test_what_the_target_refuses_is_said_when_planning(
    target: MemoryTarget,
    wanted: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def why_not(acl: Acl) -> str | None:
        return "it is a DENY" if acl.permission_type is PermissionType.DENY else None

    monkeypatch.setattr(target, "why_not", why_not)
    for verb in ("plan", "apply"):
        assert main([verb, "memory", wanted, *SUPER, "-q"]) == 2
        printed = capsys.readouterr()
        assert printed.out.splitlines()[0].endswith("<- refused")
        assert printed.err == (
            "metalog: the target cannot add DENY User:a ALL on topic team-a from 10.0.0.9: it is a "
            "DENY\n"
        )
    assert target.requests == []
