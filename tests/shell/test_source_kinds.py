"""Each verb takes every kind of SOURCE that its help lists, and refuses any other in one line with
the kinds that it takes."""

from __future__ import annotations

import shutil
from argparse import Action
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from metalog_sources.source_kinds import FORMS, LOGS, SourceKinds
from shell.main import TABLE, main
from shell.options import build_parser
from tests.support.kafka.cases import DEMO, kafka_case

ACL = "acls:\n- {principal: User:a, operation: Read, resourceType: Topic, resourceName: t}\n"
CLOSED = "127.0.0.1:1"
FOLDER = str(DEMO / "log-dir")
QUESTION = ("User:a", "Read", "topic:t")
MORE: Mapping[str, tuple[str, ...]] = {
    "can": QUESTION,
    "explain": QUESTION,
    "who-can": QUESTION[1:],
    "access": QUESTION[:1],
    "status": (),
    "acls": (),
    "users": (),
    "topics": (),
    "history": (),
    "diff": (FOLDER,),
    "dump": (),
    "shell": ("--", "ls", "/"),
    "lint": (),
    "test": ("expected.yaml",),
    "minimize": (),
    "prove": ("never: {principal: any, operation: Read, resource: topic:t}",),
    "plan": ("acls.yaml",),
    "archive": ("kept",),
    "apply": ("acls.yaml", "--yes"),
    "kafka-acls": ("--add", "--allow-principal", "User:b", "--topic", "t"),
    "passwd": ("app", "--password-file", "password.txt"),
    "export": (),
}
"""By verb: the arguments after its SOURCE."""
PIPELINE = "build follow unused least-privilege what-if report export requests shell demo"
WITHOUT = {
    "format",
    "serve",
    "schema",
    "exporter",
    "man",
    "mcp",
    "completion",
    *(f"pipeline {verb}" for verb in PIPELINE.split()),
}
LIVE = {kind: f"{kind}://{CLOSED}" for kind in ("quorum", "cluster", "zookeeper")}
SNAPSHOT = "00000000000000000123-0000000001.checkpoint"


def place_of(verb: str) -> tuple[Action, SourceKinds]:
    """The argument of ``verb`` that names its SOURCE, and the kinds that it takes."""
    line, module = {words: (verb.line, module) for words, verb, module in TABLE.commands()}[verb]
    parser = build_parser(verb, line, module)
    [place] = [action for action in parser._actions if action.dest == "source"]
    return place, parser.get_default("kinds")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """The text of a SOURCE of a kind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acls.yaml").write_text(ACL)
    (tmp_path / "password.txt").write_text("app-secret\n")
    (tmp_path / "expected.yaml").write_text(
        "deny:\n- {principal: User:b, operation: Read, resource: topic:t}\n"
    )
    (tmp_path / "yaml").mkdir()
    (tmp_path / "yaml" / "acls.yaml").write_text(ACL)
    shutil.copytree(FOLDER, tmp_path / "log", copy_function=shutil.copyfile)
    several = [kafka_case(f"quorum-4.3/node-{node}").log_dir for node in (11, 13)]
    partition = tmp_path / "log" / "__cluster_metadata-0"
    places = LIVE | {
        "topic": f"topic://{CLOSED}/acls",
        "folder": str(tmp_path / "log"),
        "folders": "+".join(map(str, several)),
        "segment": str(partition / f"{0:020d}.log"),
        "snapshot": str(partition / SNAPSHOT),
        "file": "acls.yaml",
        "files": "yaml",
    }
    assert places.keys() == FORMS.keys()
    return places.__getitem__


def test_every_verb_is_walked() -> None:
    assert {words for words, _, _ in TABLE.commands()} == MORE.keys() | WITHOUT


@pytest.mark.parametrize("verb", MORE)
def test_help_lists_the_kinds_that_a_verb_takes(verb: str) -> None:
    argument, kinds = place_of(verb)
    listed = (argument.help or "").partition(", or @NAME")[0]
    assert listed == ", ".join(kinds.forms.values())


@pytest.mark.parametrize("kind", set(FORMS) - LOGS.forms.keys())
def test_a_verb_of_logs_refuses_a_store_because_it_has_no_history(kind: str) -> None:
    for verb in MORE:
        _, kinds = place_of(verb)
        refused = str(kinds.refusal(kind, "PLACE"))
        why = "PLACE: not a log: it has only the present state, without offsets and history; give "
        assert refused.startswith(why) == (kinds.forms.keys() <= LOGS.forms.keys()), verb


@pytest.mark.once
@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("verb", MORE)
def test_a_kind_is_taken_or_refused(
    verb: str, kind: str, place: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, kinds = place_of(verb)
    text = place(kind)
    code = main([verb, text, *MORE[verb]])
    said = capsys.readouterr()
    if kind not in kinds.forms:
        assert (code, said.out, said.err) == (2, "", f"metalog: {kinds.refusal(kind, text)}\n")
        assert all(form in said.err for form in kinds.forms.values())
    elif kind in (*LIVE, "topic"):
        assert code == 2
        assert "refused" in said.err.lower()
        assert "; give " not in said.err.splitlines()[-1]
    else:
        assert code in (0, 1), said.err


@pytest.mark.once
@pytest.mark.parametrize("kind", sorted(FORMS.keys() - {"quorum", "topic", "cluster"}))
def test_settings_of_a_client_are_refused_where_no_kafka_client_reads(
    kind: str, place: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise a misspelt file of settings, or a folder in place of the cluster, goes unseen."""
    text = place(kind)
    for verb in MORE:
        if kind in place_of(verb)[1].forms:
            code = main([verb, "--command-config", "nosuch", text, *MORE[verb]])
            said = capsys.readouterr()
            refused = "metalog: --command-config: no source is a Kafka cluster; leave it out\n"
            assert (code, said.out, said.err) == (2, "", refused), verb
