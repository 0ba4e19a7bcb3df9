"""Every example of docs/formats/acl-files.md is read with the page's meaning."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from metalog.acl import PatternType, ResourceType
from metalog_sources.formats.avro import SCHEMA
from metalog_sources.formats.commands.kafka_acls import read_kafka_acls
from metalog_sources.formats.csv import read_csv
from metalog_sources.formats.document import Document
from metalog_sources.formats.json import read_json
from metalog_sources.formats.yaml import read_yaml
from metalog_sources.formats.zookeeper.kip11 import read_kip11
from tests.support.kafka.cases import REPOSITORY

PAGE = (REPOSITORY / "docs" / "formats" / "acl-files.md").read_text(encoding="utf-8")
READERS: dict[str, Callable[[str, str], Document]] = {
    "yaml": read_yaml,
    "json": read_json,
    "csv": read_csv,
    "sh": read_kafka_acls,
}
COUNTS = {"yaml": [5, 2], "json": [1], "csv": [2], "sh": [4], "kip11": [9, 1], "avsc": [0]}
TOPIC_T = (ResourceType.TOPIC, "t", PatternType.LITERAL)


def examples(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


def test_there_are_no_others() -> None:
    languages = re.findall(r"^```(\w+)$", PAGE, re.M)
    assert sorted(languages) == sorted(name for name, found in COUNTS.items() for _ in found)


@pytest.mark.parametrize("language", READERS)
def test_an_example(language: str) -> None:
    read = [READERS[language](text, "page") for text in examples(language)]
    assert [len(document.acls) for document in read] == COUNTS[language]


def test_the_acl_json() -> None:
    read = [read_kip11(text, "page", TOPIC_T) for text in examples("kip11")]
    assert [len(entries) for entries in read] == COUNTS["kip11"]


def test_the_schema() -> None:
    assert json.loads(examples("avsc")[0]) == SCHEMA
