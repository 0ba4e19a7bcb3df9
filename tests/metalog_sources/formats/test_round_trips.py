"""Each format reads back what it writes, and equal ACLs give equal bytes in any order."""

from __future__ import annotations

import csv
import re
from itertools import groupby
from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from authorizer.analysis.remedies.commands import CommandKind, kafka_acls_command
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidRequest
from metalog.records.primitives.text import MAX_BYTES
from metalog.text.visible_text import safe
from metalog_sources.formats.avro import SCHEMA, read_avro, write_avro
from metalog_sources.formats.commands.kafka_acls import read_kafka_acls
from metalog_sources.formats.csv import COLUMNS, read_csv, write_csv
from metalog_sources.formats.csv_cells import csv_row, csv_text
from metalog_sources.formats.document import AclEntry, Document, ScramUser, joined
from metalog_sources.formats.json import read_json, write_json
from metalog_sources.formats.nodes.regroup import regrouped
from metalog_sources.formats.nodes.yaml_text import scalar
from metalog_sources.formats.strimzi import VERSIONS, write_strimzi
from metalog_sources.formats.yaml import read_yaml, write_yaml
from metalog_sources.formats.zookeeper.kip11 import read_kip11, write_kip11
from tests.support.worlds.acl_files import acls, documents, entries, meant, names, similar_acls
from tests.support.worlds.acl_files import users as scram_users

pytestmark = pytest.mark.once

seeds = st.integers(0, 1 << 32)


def shuffled(document: Document, seed: int) -> Document:
    """The same ACLs in another order, without repeated ones, since the first counts."""
    once = {entry.acl: entry for entry in reversed(document.entries)}
    mixed = list(once.values())
    Random(seed).shuffle(mixed)
    return document._replace(entries=tuple(mixed))


@given(documents, seeds)
def test_yaml(document: Document, seed: int) -> None:
    text = write_yaml(document)
    assert meant(read_yaml(text, "a.yaml")) == meant(document)
    assert write_yaml(read_yaml(text, "a.yaml")) == text
    assert write_yaml(shuffled(document, seed)) == text
    text.encode("utf-8")


@given(documents)
def test_others_read_our_yaml_as_we_do(document: Document) -> None:
    loaded = yaml.safe_load(write_yaml(document._replace(owns=(), users=())))
    said = {
        (rule["principal"], name, host, operation)
        for rule in loaded["acls"]
        for name in listed(rule["resourceName"])
        for host in listed(rule["host"])
        for operation in listed(rule["operation"])
    }
    assert said == {
        (acl.principal, acl.resource_name, acl.host, acl.operation.name) for acl in document.acls
    }


def listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


@given(names)
def test_a_scalar_is_the_text_for_every_reader(text: str) -> None:
    assert yaml.safe_load(f"- {scalar(text)}") == [text]
    assert scalar(text).isprintable()


@given(documents, seeds)
def test_json(document: Document, seed: int) -> None:
    document = document._replace(owns=())
    text = write_json(document)
    assert meant(read_json(text, "a.json")) == meant(document)
    assert write_json(shuffled(document, seed)) == text
    assert text.isascii()


@given(documents)
def test_the_lines_of_an_export_are_read_in_short_and_no_otherwise(document: Document) -> None:
    """A list of one host never takes the fast path; an ACL's position is the start of its
    object."""
    text = write_json(Document(document.entries))
    whole = re.sub(r'"host":("(?:[^"\\]|\\.)*")', r'"host":[\1]', text)
    assert read_json(whole, "a") == read_json(text, "a")


def test_json_has_no_place_for_owns() -> None:
    document = read_yaml("owns: [{resourceName: a}]", "a.yaml")
    with pytest.raises(InvalidRequest, match="write YAML"):
        write_json(document)


@given(entries, seeds)
def test_csv(found: list[AclEntry], seed: int) -> None:
    document = Document(tuple(found))
    text = write_csv(document)
    assert set(read_csv(text, "a.csv").acls) == set(document.acls)
    assert write_csv(shuffled(document, seed)) == text


ODD_PARTS = ["\n# missing: x", "\r# y\r\n", "\n", '"', ",", "\\", "\\u001b", "'", "=1+1", "-", "#"]
odd_names = st.lists(st.sampled_from([*ODD_PARTS, "@", "\x1b[2J", "é", "\U000e0001", "a"])).map(
    "".join
)


@given(st.lists(odd_names, min_size=2, max_size=4))
def test_cells_of_csv_are_read_back_and_no_terminal_or_spreadsheet_acts_on_them(
    texts: list[str],
) -> None:
    """The characters that begin a formula are OWASP's, on CSV injection."""
    line = csv_row(texts)
    [row] = csv.reader([line], strict=True)
    assert [csv_text(cell) for cell in row] == texts
    assert not any(cell.startswith(tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")) for cell in row)
    assert safe(line.removesuffix("\n")) + "\n" == line
    assert not line.startswith("#")


@given(odd_names)
def test_names_of_any_csv_are_read_as_they_stand(name: str) -> None:
    """The marker of missing entries stands between rows; within a name it belongs to it."""
    head = ",".join(COLUMNS)
    cell = name.replace('"', '""')
    row = f'User:a,Group,LITERAL,"x{cell}",Read,Allow,*'
    text = f"# missing: one\n{head}\n{row}\n# missing: two\n{row}\n"
    read = read_csv(text, "a.csv")
    assert [acl.resource_name for acl in read.acls] == [f"x{name}"]
    assert (len(read.entries), read.missing) == (2, ("one", "two"))


@given(entries, seeds)
def test_avro(found: list[AclEntry], seed: int) -> None:
    document = Document(tuple(found))
    data = write_avro(document)
    assert meant(read_avro(data, "a.avro").document) == meant(document)
    assert write_avro(shuffled(document, seed)) == data


def test_the_avro_schema_is_of_strings() -> None:
    assert [field["name"] for field in SCHEMA["fields"]][:2] == ["resourceType", "resourceName"]


@given(st.lists(acls | similar_acls, max_size=6))
def test_commands(found: list[Acl]) -> None:
    for acl in found:
        command = kafka_acls_command(CommandKind.ADD, acl)
        if command is not None:
            assert read_kafka_acls(f"# x\n{command}\n", "a.sh").acls == (acl,)


@given(entries, st.lists(scram_users, max_size=3), st.sampled_from(VERSIONS), seeds)
def test_strimzi(found: list[AclEntry], known: list[ScramUser], version: str, seed: int) -> None:
    document = Document(tuple(found), users=tuple(known))
    written = write_strimzi(document, version=version)
    read = set(read_yaml(written.text, "a.yaml").acls)
    left_out = {acl for acl, _ in written.acls_left_out}
    assert read.isdisjoint(left_out)
    assert read | left_out == set(document.acls)
    assert write_strimzi(shuffled(document, seed), version=version) == written


@given(st.lists(similar_acls, max_size=12))
def test_strimzi_says_what_it_can(found: list[Acl]) -> None:
    left_out = write_strimzi(Document(tuple(AclEntry(acl) for acl in found))).acls_left_out
    assert all(
        acl.resource_type is ResourceType.CLUSTER and acl.pattern_type is PatternType.PREFIXED
        for acl, _ in left_out
    )


@given(st.lists(acls, max_size=8))
def test_kip11(found: list[Acl]) -> None:
    by_resource = groupby(sorted(found, key=lambda acl: acl[:3]), lambda acl: acl[:3])
    for resource, of_resource in by_resource:
        wanted = set(of_resource)
        read = read_kip11(write_kip11(wanted), "node", resource)
        assert {entry.acl for entry in read} == wanted


@given(st.lists(similar_acls, max_size=30))
def test_rules_mean_exactly_their_acls_and_are_few(found: list[Acl]) -> None:
    document = Document(tuple(AclEntry(acl) for acl in found))
    rules = regrouped(document.entries)
    assert len(rules) <= len(document.acls)
    total = sum(len(rule.names) * len(rule.hosts) * len(rule.operations) for rule in rules)
    assert total == len(document.acls)
    assert set(read_yaml(write_yaml(document), "a").acls) == set(document.acls)


def test_files_join() -> None:
    one = read_yaml("owns: [{resourceName: a}]\nacls: []", "a.yaml")
    assert joined([one, one]) == one


@pytest.mark.parametrize("character", ["x", "\0", '"', "\\", "\u2028", "\U000e0001"])
def test_the_longest_name(character: str) -> None:
    name = character * (MAX_BYTES // len(character.encode()))
    acl = Acl(
        ResourceType.GROUP,
        name,
        PatternType.LITERAL,
        "User:a",
        "*",
        Operation.READ,
        PermissionType.ALLOW,
    )
    document = Document((AclEntry(acl),))
    assert read_yaml(write_yaml(document), "a.yaml").acls == (acl,)
    assert read_json(write_json(document), "a.json").acls == (acl,)
    assert read_csv(write_csv(document), "a.csv").acls == (acl,)
    assert read_avro(write_avro(document), "a.avro").document.acls == (acl,)
