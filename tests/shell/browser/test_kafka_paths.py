"""Our metadata shell finds and prints the same as Kafka's. ``shell-*`` in the cases' ``expected``
is its output on a snapshot, or on a ``.log`` opened as one. Its ``find`` fails at a default quota,
so those cases have a list by folder."""

import io
import json
from functools import cache

import pytest

from metalog.image.metadata import MetadataImage
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.browser.builtins import BUILTINS
from shell.browser.globs import literal
from shell.browser.paths import expand, path_text
from shell.browser.quoting import quoted, split
from shell.browser.session import ShellSession
from shell.browser.tree.root import root_directory
from shell.output.output import Output
from tests.support.kafka.cases import KafkaCase, kafka_cases

FOUND = [
    pytest.param(case, path.stem.removeprefix("shell-find-"), id=f"{case.name}-{path.stem[11:]}")
    for case in kafka_cases()
    for path in sorted(case.expected.glob("shell-find-*.txt"))
]


@cache
def image_of(case: KafkaCase, stem: str) -> MetadataImage:
    name = stem if stem.endswith(".log") else f"{stem}.checkpoint"
    source = open_source(str(case.metadata_dir / name), environ={})
    return replay_source(source, tolerant=True).image


def printed(case: KafkaCase, stem: str, *line: str, show_secrets: bool = True) -> str:
    output = Output(io.StringIO(), io.StringIO())
    root = root_directory(image_of(case, stem), show_secrets=show_secrets)
    session = ShellSession(root, BUILTINS, output)
    session.run_words(line)
    assert not session.failed
    return output.out.getvalue()


def contents(case: KafkaCase, stem: str) -> list[tuple[str, str]]:
    """Paths and Kafka's output for them, unless it answered before it had read the file."""
    return [
        (file["path"], file["stdout"])
        for file in case.json(f"shell-cat-{stem}.json")
        if "No such file or directory" not in file["stdout"]
    ]


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
    for path, expected in contents(case, stem):
        assert printed(case, stem, "cat", path) == expected


@pytest.mark.parametrize(("case", "stem"), FOUND)
def test_without_being_asked_no_secret_is_printed(case, stem):
    everything = printed(case, stem, "tree", "/", show_secrets=False)
    for path, kafkas in contents(case, stem):
        if path.startswith("/image/scram/"):
            salt = kafkas.partition("salt=")[2].partition(",")[0]
            assert salt
            assert salt not in everything
            assert printed(case, stem, "cat", path, show_secrets=False) == (
                "ScramCredentialData(salt=[redacted], storedKey=[redacted], "
                f"serverKey=[redacted], iterations={kafkas.partition('iterations=')[2]}"
            )


@pytest.mark.parametrize(
    ("case", "stem"),
    [each for each in FOUND if each.values[0].expects(f"snapshot-{each.values[1]}.records.jsonl")],
)
def test_every_acl_is_a_file_of_json(case, stem):
    records = case.json_lines(f"snapshot-{stem}.records.jsonl")
    expected = {
        record["data"]["id"]: record["data"]
        for record in records
        if record.get("type") == "ACCESS_CONTROL_ENTRY_RECORD"
    }
    objects = printed(case, stem, "cat", "/acl/id/*").split("\n}\n")[:-1]
    found = {acl["id"]: acl for acl in (json.loads(text + "}") for text in objects)}
    assert printed(case, stem, "ls", "/acl/id").split() == sorted(found)
    assert sorted(found) == sorted(expected)
    for acl_id, acl in found.items():
        assert list(acl) == list(expected[acl_id])
        for key in ("id", "resourceName", "principal", "host"):
            assert acl[key] == expected[acl_id][key]


@pytest.mark.parametrize(("case", "stem"), FOUND)
def test_every_path_that_is_printed_can_be_typed(case, stem):
    root = root_directory(image_of(case, stem), show_secrets=False)
    paths = printed(case, stem, "find", "/").splitlines()
    for path in paths[:: 1 + len(paths) // 1000]:
        [word] = split(quoted(literal(path)))
        assert [path_text(found.path) for found in expand(root, (), word)] == [path]
