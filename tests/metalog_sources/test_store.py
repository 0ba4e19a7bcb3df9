"""Files of ACLs as a SOURCE: what is read, which file is wrong, and what a store cannot answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.acl import Acl
from metalog.errors import InvalidRequest, InvalidSource
from metalog.ids import uuid_text
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import NOTHING
from metalog.image.metadata import EMPTY
from metalog_sources.formats.document import AclEntry, Document
from metalog_sources.moment import AtOffset
from metalog_sources.replay import replay_source
from metalog_sources.source import Source, open_source
from metalog_sources.store import derived_id, image_of
from tests.support.worlds.acl_files import acls

RULE = "- {{principal: {}, operation: Read, resourceType: Topic, resourceName: t}}\n"
JSON = '{"resourceType":"TOPIC","resourceName":"t","principal":"User:j","operation":"READ"}\n'
CSV = (
    "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
    "User:c,Topic,LITERAL,t,Read,Allow,*\n"
)
COMMAND = "kafka-acls --add --allow-principal User:s --operation Read --topic t\n"


def opened(path: Path) -> Source:
    return open_source(str(path), environ={})


def principals(path: Path) -> list[str]:
    image = replay_source(opened(path)).image
    return sorted(acl.principal for acl in image.acls.by_id.values())


@pytest.mark.parametrize(
    ("name", "text", "principal"),
    [
        ("a.yaml", RULE.format("User:y"), "User:y"),
        ("a.yml", "\ufeff" + RULE.format("User:y"), "User:y"),
        ("a.json", JSON, "User:j"),
        ("a.csv", CSV, "User:c"),
        ("a.sh", COMMAND, "User:s"),
    ],
)
def test_a_file(tmp_path: Path, name: str, text: str, principal: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert opened(tmp_path / name).kind == "file"
    assert principals(tmp_path / name) == [principal]


def test_a_folder_is_all_its_yaml_and_that_below(tmp_path: Path) -> None:
    (tmp_path / "team" / "deep").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.yaml").write_text("not ours")
    (tmp_path / "README.md").write_text("# ACLs")
    (tmp_path / "b.yaml").write_text(RULE.format("User:b"))
    (tmp_path / "team" / "a.yml").write_text(RULE.format("User:a"))
    (tmp_path / "team" / "deep" / "b.yaml").write_text(RULE.format("User:b"))
    assert opened(tmp_path).kind == "files"
    assert principals(tmp_path) == ["User:a", "User:b"]


def test_a_suffix_is_known_in_capitals_too(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(RULE.format("User:a"))
    (tmp_path / "B.YML").write_text(RULE.format("User:b"))
    assert principals(tmp_path) == ["User:a", "User:b"]
    assert principals(tmp_path / "B.YML") == ["User:b"]


@pytest.mark.parametrize("name", ["b.json", "b.CSV", "b.sh", "b.avro"])
def test_acls_that_a_folder_does_not_take_are_named(tmp_path: Path, name: str) -> None:
    """Any of them may be a DENY."""
    (tmp_path / "a.yaml").write_text(RULE.format("User:a"))
    (tmp_path / "README.md").write_text("# ACLs")
    (tmp_path / name).write_text("")
    [problem] = replay_source(opened(tmp_path)).problems
    assert problem.startswith(f"{tmp_path / name}: left out: ")


def test_folders_that_lie_too_deep_are_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(RULE.format("User:a"))
    (tmp_path / "back").symlink_to(tmp_path)
    with pytest.raises(InvalidSource, match="more than 8 nested folders"):
        replay_source(opened(tmp_path))


def test_yaml_beside_a_log_does_not_hide_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(RULE.format("User:a"))
    (tmp_path / "meta.properties").write_text("version=1\n")
    with pytest.raises(InvalidSource, match="not a metadata log"):
        opened(tmp_path)


def test_a_mistake_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(RULE.format("User:a"))
    (tmp_path / "b.yaml").write_text("\n" + RULE.format("bob"))
    with pytest.raises(InvalidRequest) as raised:
        principals(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path / 'b.yaml'}, line 2, column 3: Kafka refuses")


def test_a_file_that_is_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\n\n# \xff")
    with pytest.raises(InvalidSource, match=r"line 3: not UTF-8; save it as UTF-8"):
        principals(tmp_path / "a.yaml")


def test_what_needs_offsets_says_so_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(RULE.format("User:a"))
    said = (
        "not a log: it has only the present state, without offsets and history; "
        "give a metadata.log.dir"
    )
    source = opened(path)
    with pytest.raises(InvalidSource, match=said):
        replay_source(source, at=AtOffset(1))
    with pytest.raises(InvalidSource, match=said):
        replay_source(source, committed=True)
    assert source.store is not None
    replayed = replay_source(source)
    assert (replayed.ready, replayed.problems) == (True, ())


@given(st.lists(acls, max_size=12))
def test_the_image_of_a_store_is_one_that_records_make(found: list[Acl]) -> None:
    image = image_of(Document(tuple(AclEntry(acl) for acl in found)))
    delta = MetadataDelta(EMPTY)
    for message, _ in image.write():
        delta.replay(message)
    assert delta.apply(NOTHING).acls == image.acls
    assert set(image.acls.by_id.values()) == set(found)


@given(acls, acls)
def test_an_id_is_made_of_what_the_acl_says(one: Acl, other: Acl) -> None:
    assert derived_id(one) == derived_id(one._replace())
    assert (derived_id(one) == derived_id(other)) is (one == other)
    assert len(uuid_text(derived_id(one))) == 22
