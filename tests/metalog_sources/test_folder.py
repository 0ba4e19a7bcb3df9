"""A stopped node's folder as a TARGET: written as by its controller, or refused."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from metalog.acl import Acl
from metalog.errors import CorruptLog, InvalidTarget
from metalog.image.state.acls import acl_of
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from metalog_sources.targets.plan import ChangeKind, PlanStep
from metalog_sources.targets.target import carry_out, target_of
from shell.main import main
from tests.support.disk.written_log import FIRST_ACL, copied, formatted

WANTED = """\
owns: [{resourceType: ANY}]
acls:
  - {principal: [User:a, User:b], operation: Read, resourceType: Topic, resourceName: t}
  - {principal: User:b, operation: All, resourceType: Topic, resourceName: t,
     host: 10.0.0.9, permissionType: deny}
"""
OTHER = ("--allow-principal", "User:other", "--operation", "Read", "--topic", "other")
SUPER = ("--super-users", "User:root", "--no-allow-everyone")


def acls(source: Path) -> set[Acl]:
    return set(replay_source(open_source(str(source), environ={})).image.acls.by_id.values())


@pytest.fixture
def wanted(tmp_path: Path) -> Path:
    (tmp_path / "wanted.yaml").write_text(WANTED)
    return tmp_path / "wanted.yaml"


def test_apply_to_a_formatted_folder(
    tmp_path: Path, wanted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = formatted(tmp_path / "node")
    apply = ["apply", str(folder), str(wanted), *SUPER, "--yes"]
    assert main(apply) == 0
    assert acls(folder) == acls(wanted) | {acl_of(FIRST_ACL)}
    assert main([*apply, "--prune"]) == 0
    assert acls(folder) == acls(wanted)
    before = [path.read_bytes() for path in sorted(folder.rglob("*.log"))]
    assert main([*apply, "--prune"]) == 0
    assert capsys.readouterr().out.endswith("Nothing to do.\n")
    assert [path.read_bytes() for path in sorted(folder.rglob("*.log"))] == before


def test_a_saved_plan(tmp_path: Path, wanted: Path) -> None:
    folder = formatted(tmp_path / "node")
    plan = str(tmp_path / "plan.json")
    assert main(["plan", str(folder), str(wanted), *SUPER, "--prune", "--save", plan]) == 0
    assert main(["apply", str(folder), plan, *SUPER]) == 0
    assert acls(folder) == acls(wanted)


def test_a_folder_that_changed_while_it_was_read_is_not_called_damaged(tmp_path: Path) -> None:
    """A claim writes quorum-state before the log, and a reader can read it before that."""
    folder = formatted(tmp_path / "node")
    assert main(["kafka-acls", str(folder), "--add", *OTHER]) == 0
    state = folder / "__cluster_metadata-0" / "quorum-state"
    older, source = state.read_bytes(), open_source(str(folder), environ={})
    with closing(WritableDirectoryLog(folder)) as writer:
        writer.claim()
    newer = state.read_bytes()
    state.write_bytes(older)
    source.log.refresh()
    state.write_bytes(newer)
    with closing(target_of(source)):
        pass
    state.write_bytes(older)
    source.log.refresh()
    with pytest.raises(CorruptLog, match="the log has epoch 2, quorum-state only 1"):
        target_of(source)


def test_what_changes_at_the_last_moment_is_not_overrun(tmp_path: Path, wanted: Path) -> None:
    folder = formatted(tmp_path / "node")
    source = open_source(str(folder), environ={})
    before = acls(folder)
    target = target_of(source)
    assert main(["kafka-acls", str(folder), "--add", *OTHER]) == 0
    changed = acls(folder)
    assert changed > before
    steps = [PlanStep(ChangeKind.ADD, acl) for acl in acls(wanted)]
    with (
        closing(target),
        pytest.raises(InvalidTarget, match="another program has changed the ACLs"),
    ):
        carry_out(target, steps, before=before)
    assert acls(folder) == changed
    with closing(target):
        carry_out(target, steps, before=changed)
    assert acls(folder) == changed | acls(wanted)


def test_a_folder_that_is_not_the_only_voters_is_refused_untouched(
    tmp_path: Path, wanted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied("quorum-4.3/node-11", tmp_path / "node")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(["apply", str(folder), str(wanted), *SUPER, "--yes"]) == 2
    assert "one of 3 voters" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
