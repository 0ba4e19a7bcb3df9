"""A folder that ``follow`` fills never continues with another log or other audit logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metalog.errors import InvalidTarget
from metalog_spark.follow.query import check_same_input
from metalog_spark.store.commit_log import NOTHING, CommittedState
from metalog_spark.store.refusals import FOLLOWED


def _filled(**followed: str | None) -> CommittedState:
    return NOTHING._replace(facts={FOLLOWED: followed})


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder; ``@prod`` is its log ``a``."""
    for folder in ("a", "b", "elsewhere/b"):
        (tmp_path / folder).mkdir(parents=True)
    _name(tmp_path, "a")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("METALOG_SOURCE", raising=False)
    return tmp_path


def _name(world: Path, url: str) -> None:
    (world / "metalog.toml").write_text(f'[sources.prod]\nurl = "{url}"\n')


def _checked(
    before: CommittedState, log: str, cluster: str | None, audit: str = "audit"
) -> dict[str, Any]:
    return check_same_input("out", before, log, audit, cluster)


@pytest.mark.parametrize("log", ["@prod", "@", "a"])
def test_a_log_of_another_cluster_is_other_input(
    world: Path, monkeypatch: pytest.MonkeyPatch, log: str
) -> None:
    monkeypatch.setenv("METALOG_SOURCE", "@prod")
    before = _filled(**_checked(NOTHING, log, "one"))
    with pytest.raises(InvalidTarget, match=r"follows --log .*cluster one\).*, not --log .* two\)"):
        _checked(before, log, "two")
    assert _checked(before, log, "one")["cluster"] == "one"


def test_a_name_may_move_with_its_cluster(world: Path) -> None:
    """Without a cluster's id, as of a topic, the log must stay where it is."""
    unknown, known = (_filled(**_checked(NOTHING, "@prod", each)) for each in (None, "one"))
    _name(world, "b")
    assert _checked(known, "@prod", "one")["url"] == str(world / "b")
    for before, now in ((unknown, None), (unknown, "one"), (known, None)):
        with pytest.raises(InvalidTarget, match=rf"@prod .{world}/a.*, not .*{world}/b"):
            _checked(before, "@prod", now)


def test_the_variable_may_not_name_another_log(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METALOG_SOURCE", "topic://h:1/a")
    before = _filled(**_checked(NOTHING, "@", None))
    _checked(before, "@", None)
    monkeypatch.setenv("METALOG_SOURCE", "topic://h:1/b")
    with pytest.raises(InvalidTarget, match=r"topic://h:1/a.* not .*topic://h:1/b"):
        _checked(before, "@", None)


def test_an_unknown_id_does_not_replace_a_known_one(world: Path) -> None:
    before = _filled(**_checked(NOTHING, "a", "one"))
    later = _filled(**_checked(before, "a", None))
    with pytest.raises(InvalidTarget, match="name another folder for other input"):
        _checked(later, "a", "two")


def test_each_of_several_folders_has_its_whole_path(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _filled(**_checked(NOTHING, f"{world}/a+b", None, f"{world}/audit"))
    _checked(before, f"a/+{world}/b", None)
    monkeypatch.chdir(world / "elsewhere")
    _checked(before, f"{world}/a+{world}/b", None, f"{world}/audit")
    with pytest.raises(InvalidTarget, match=rf"{world}/a.{world}/b .*{world}/elsewhere/b"):
        _checked(before, f"{world}/a+b", None, f"{world}/audit")


def test_a_folder_of_an_earlier_version_continues(world: Path) -> None:
    """That version stored neither cluster nor url, and a name or a relative path as it was."""
    audit = str(world / "audit")
    assert _checked(_filled(log="@prod", audit=audit), "@prod", "one")["cluster"] == "one"
    assert _checked(_filled(log="a", audit="audit"), "a", None)["url"] == str(world / "a")
    with pytest.raises(InvalidTarget, match="follows --log @prod --audit"):
        _checked(_filled(log="@prod", audit=audit), "a", "one")


def test_a_name_does_not_hide_that_the_folder_lies_in_the_log(world: Path) -> None:
    with pytest.raises(InvalidTarget, match="lies in --log"):
        check_same_input("a/out", NOTHING, "@prod", "audit", None)
