"""What Kafka's own metadata shell found and printed, ours finds and prints too.

``shell-*`` in the cases' ``expected`` is its output on a snapshot, or on a ``.log`` given
as one. Its ``find`` dies at a default quota, so there a list by folder goes beside it.
"""

import io
import json

import pytest
from cases import KafkaCase, kafka_cases

from shell.browser.builtins import BUILTINS
from shell.browser.session import Session
from shell.browser.tree.root import root_directory
from shell.output import Output
from snapshot.exchange.replay import replay_source
from snapshot.exchange.source import open_source

FOUND = [
    pytest.param(case, path.stem.removeprefix("shell-find-"), id=f"{case.name}-{path.stem[11:]}")
    for case in kafka_cases()
    for path in sorted(case.expected.glob("shell-find-*.txt"))
]


def printed(case: KafkaCase, stem: str, *line: str, show_secrets: bool = True) -> str:
    name = stem if stem.endswith(".log") else f"{stem}.checkpoint"
    source = open_source(str(case.metadata_dir / name), environ={})
    image = replay_source(source, at=None, committed=False, tolerant=True).image
    output = Output(io.StringIO(), io.StringIO())
    session = Session(root_directory(image, show_secrets=show_secrets), BUILTINS, output)
    session.run_words(line)
    assert not session.failed
    return output.out.getvalue()


@pytest.mark.parametrize(("case", "stem"), FOUND)
def test_every_path_that_kafka_finds_is_found(case, stem):
    ours = [
        path
        for path in printed(case, stem, "find").splitlines()
        if path == "." or path.startswith(("./image", "./local"))
    ]
    kafkas = case.text(f"shell-find-{stem}.txt").splitlines()
    if case.expects(f"shell-find-{stem}-by-folder.json"):
        assert ours[: len(kafkas)] == kafkas
    else:
        assert ours == kafkas


@pytest.mark.parametrize(
    ("case", "stem"),
    [
        each
        for each in FOUND
        if each.values[0].expects(f"shell-find-{each.values[1]}-by-folder.json")
    ],
)
def test_every_folder_where_kafka_dies_half_way(case, stem):
    for folder in case.json(f"shell-find-{stem}-by-folder.json"):
        ours = printed(case, stem, "find", folder["path"]).splitlines()
        kafkas = folder["stdout"].splitlines()
        if folder["error"] is None:
            assert ours == kafkas
        else:
            assert set(kafkas) < set(ours)


@pytest.mark.parametrize(("case", "stem"), FOUND)
def test_ls_lists_what_kafka_lists(case, stem):
    for folder in ("/image", "/image/acls/byId"):
        expected = case.text(f"shell-ls-{stem}{folder.replace('/', '_')}.txt")
        assert printed(case, stem, "ls", folder) == expected
    assert printed(case, stem, "ls", "/") == "acl\nimage\nlocal\nscram\n"


@pytest.mark.parametrize(("case", "stem"), FOUND)
def test_cat_prints_what_kafka_prints(case, stem):
    for file in case.json(f"shell-cat-{stem}.json"):
        assert printed(case, stem, "cat", file["path"]) == file["stdout"]


@pytest.mark.parametrize(("case", "stem"), FOUND)
def test_without_being_asked_no_secret_is_printed(case, stem):
    everything = printed(case, stem, "tree", "/", show_secrets=False)
    for file in case.json(f"shell-cat-{stem}.json"):
        if file["path"].startswith("/image/scram/"):
            salt = file["stdout"].partition("salt=")[2].partition(",")[0]
            assert salt not in everything
            assert printed(case, stem, "cat", file["path"], show_secrets=False) == (
                "ScramCredentialData(salt=[redacted], storedKey=[redacted], "
                f"serverKey=[redacted], iterations={file['stdout'].partition('iterations=')[2]}"
            )


@pytest.mark.parametrize(("case", "stem"), FOUND)
def test_every_acl_has_the_json_form_of_kip_801(case, stem):
    if not case.expects(f"snapshot-{stem}.records.jsonl"):
        return
    records = case.json_lines(f"snapshot-{stem}.records.jsonl")
    acls = {each["data"]["id"]: each["data"] for each in records if "AccessC" in each["type"]}
    listed = printed(case, stem, "ls", "/acl/id").split()
    assert sorted(listed) == sorted(acls)
    shown = [json.loads(line) for line in printed(case, stem, "tree", "/acl/id").splitlines()[1::2]]
    for acl in shown:
        record = acls[acl["id"]]
        assert list(acl) == [key for key in record if key in acl]
        for key in ("resourceName", "principal", "host"):
            assert acl[key] == record[key]
