"""A written file has no more ACLs than its reader accepts, for each rule and in total."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest

from metalog.acl import Operation
from metalog_sources.formats import document
from metalog_sources.formats.document import AclEntry, Document
from metalog_sources.formats.nodes import regroup, rules
from metalog_sources.formats.nodes.regroup import regrouped
from metalog_sources.formats.strimzi import write_strimzi
from metalog_sources.formats.yaml import read_yaml, write_yaml
from tests.support.worlds.small_acls import allow

MOST_OF_A_RULE, MOST_OF_A_FILE = 100, 1_000


@pytest.fixture(autouse=True)
def _small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (regroup, rules):
        monkeypatch.setattr(module, "MAX_ACLS_OF_A_RULE", MOST_OF_A_RULE)
    for module in (regroup, document):
        monkeypatch.setattr(module, "MOST_ENTRIES", MOST_OF_A_FILE)


def entries(names: int, hosts: int, operations: int) -> tuple[AclEntry, ...]:
    kinds = list(Operation)[3 : 3 + operations]
    return tuple(
        AclEntry(allow(f"t{name}", operation, "User:a", host=f"10.0.0.{host}"))
        for name, host, operation in product(range(names), range(hosts), kinds)
    )


@pytest.mark.parametrize(
    "counts", [(101, 1, 1), (250, 1, 1), (1, 101, 2), (15, 15, 3), (99, 2, 1), (40, 40, 3)]
)
def test_what_is_written_is_read(counts: tuple[int, int, int]) -> None:
    written = entries(*counts)
    for rule in regrouped(written):
        assert prod(map(len, (rule.names, rule.hosts, rule.operations))) <= MOST_OF_A_RULE
    document = Document(written)
    for text in (write_yaml(document), write_strimzi(document).text):
        read = read_yaml(text, "a")
        assert len(read.entries) == len(written)
        assert {each.acl for each in read.entries} == {each.acl for each in written}


def test_what_fits_is_one_rule() -> None:
    assert len(regrouped(entries(10, 5, 2))) == 1
