"""JSON Schemas of files that people write: another validator accepts what our readers accept, and
finds the most frequent mistakes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

from metalog.disk.files import LOCAL_FILES
from metalog.errors import InvalidRequest, InvalidSource
from metalog_sources.formats.strimzi import LISTS
from metalog_sources.formats.yaml import read_yaml
from metalog_sources.names import look_up
from metalog_spark.report.triage.accepted import read_accepted
from metalog_spark.report.triage.owners import read_owners
from shell.arguments.yaml_files.expectations import expectations_of
from shell.arguments.yaml_files.schemas import SCHEMAS, schema
from tests.support.command.runs import Run
from tests.support.kafka.cases import DEMO, REPOSITORY

DOCS = REPOSITORY / "docs"
ACL = "{principal: User:a, operation: Read, resourceType: Topic, resourceName: t}"
ACCEPTED = "{section: exposure, reason: known, until: 2026-12-31, principal: User:a"
RULE = "{principal: User:a, operation: Read, resource: topic:t}"


@cache
def validator(name: str) -> Draft7Validator:
    Draft7Validator.check_schema(schema(name))
    return Draft7Validator(schema(name))


def faults(name: str, text: str) -> list[str]:
    loaded = tomllib.loads(text) if name == "metalog.toml" else yaml.safe_load(text)
    return [error.message for error in validator(name).iter_errors(as_json(loaded))]


def as_json(value: object) -> object:
    return json.loads(json.dumps(value, default=str))


def read_names(text: str, folder: Path) -> None:
    (folder / "metalog.toml").write_text(text)
    for name in tomllib.loads(text)["sources"]:
        look_up(f"@{name}", {}, folder, LOCAL_FILES)


READERS: dict[str, Callable[[str, Path], object]] = {
    "acls": lambda text, _: read_yaml(text, "acls.yaml"),
    "expectations": lambda text, _: list(expectations_of(text, "expected.yaml")),
    "accepted": lambda text, _: read_accepted(text, "accepted.yaml"),
    "owners": lambda text, _: read_owners(text, "owners.yaml"),
    "metalog.toml": read_names,
}


def of_pages(language: str, *pages: str) -> list[str]:
    return [
        text
        for page in pages
        for text in re.findall(
            rf"^```{language}\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.M | re.S
        )
    ]


RIGHT = [
    *(("acls", path.read_text("utf-8")) for path in sorted((DOCS / "guide/acls").glob("*.yaml"))),
    *(("acls", f"{{apiVersion: v1, kind: {kind}, items: []}}") for kind in LISTS),
    *(("acls", text) for text in of_pages("yaml", "formats/acl-files.md")),
    ("acls", f"- {ACL}"),
    ("acls", "acls:"),
    ("acls", "acls: [{principal: User:a, operation: [alter_CONFIGS], resourceType: cluster}]"),
    ("acls", f"acls: [{ACL.replace('User:a', '[User:a, User:b]').replace(': t}', ': 007}')}]"),
    ("expectations", (DOCS / "guide/expectations.yaml").read_text("utf-8")),
    *(("expectations", text) for text in of_pages("yaml", "formats/expectations.md")),
    ("expectations", f"allow: {RULE}\nonly: {RULE.replace('principal', 'principals')}"),
    *(
        ("expectations", f"deny: [{RULE.replace(old, new)}]")
        for old, new in (
            ("User:a", "super.users"),
            ("User:a", "any except [super.users]"),
            ("User:a", "{any except: [User:a]}"),
            ("User:a", '":a"'),
            ("topic:t", "{any except: topic:t}"),
            ("topic:t", "transactional id:t"),
            ("topic:t}", "topic:t, host: {any except: [10.0.0.0/8]}}"),
            ("Read", "[describe configs, _Read-]"),
        )
    ),
    *zip(("owners", "accepted"), of_pages("yaml", "guide/pipeline/report.md"), strict=True),
    ("accepted", "[]"),
    ("accepted", f"- {ACCEPTED}, by: whoever can connect}}"),
    (
        "owners",
        "payments:\n- principal: [User:a, User:b]\n- {resourceName: p-, patternType: prefixed}",
    ),
    *(
        ("metalog.toml", text)
        for text in of_pages("toml", "guide/sources.md", "guide/acls-in-git.md")
    ),
    ("metalog.toml", '[sources.prod]\nurl = "x"\nkafka.version = "4.4"'),
    ("metalog.toml", '[sources.prod]\nurl = "x"\n"kafka.version" = "4.4"'),
]
WRONG = {
    "a misspelt key": ("acls", f"acls: [{ACL.replace('resourceName', 'resource')}]"),
    "an operation that Kafka lacks": ("acls", f"acls: [{ACL.replace('Read', 'Consume')}]"),
    "a principal without its type": ("acls", f"acls: [{ACL.replace('User:a', 'billing')}]"),
    "a key that is missing": ("acls", "acls: [{principal: User:a, operation: Read}]"),
    "a topic without a name": ("acls", f"acls: [{ACL.replace(', resourceName: t', '')}]"),
    "no list": ("acls", f"acls: {ACL}"),
    "an unknown section": ("acls", f"acl: [{ACL}]"),
    "a pattern of no name": ("acls", "owns: [{patternType: Prefixed}]\nacls: []"),
    "a user without iterations": ("acls", "users: [{user: a, mechanism: SCRAM_SHA_256}]"),
    "a resource without its type": ("expectations", f"allow: [{RULE.replace('topic:', '')}]"),
    **{
        f"{new} in place of {old}": ("expectations", f"deny: [{RULE.replace(old, new)}]")
        for old, new in (
            ("User:a", "anyone"),
            ("topic:t", "anything"),
            ("topic:t}", "'topic:'}"),
            ("User:a", "[any]"),
            ("User:a", "{}"),
            ("User:a", "any except User:b"),
            ("topic:t", "[any]"),
            ("topic:t", "'topic:LITERAL:'"),
        )
    },
    "only for any": (
        "expectations",
        f"only: [{RULE.replace('principal: User:a', 'principals: any')}]",
    ),
    "only for any resource": (
        "expectations",
        f"only: [{RULE.replace('principal', 'principals').replace('topic:t', 'any')}]",
    ),
    "a day and more": ("acls", f"acls: [{ACL[:-1]}, expires: 2026-12-31x}}]"),
    "another section's rule": ("expectations", f"deny: [{RULE[:-1]}, rule: SuperUser}}]"),
    "neither allow nor deny": ("expectations", f"allowed: [{RULE}]"),
    "an acceptance of a whole section": ("accepted", f"- {ACCEPTED.rpartition(',')[0]}}}"),
    "an acceptance without a reason": ("accepted", f"- {ACCEPTED.replace('known', '[]')}}}"),
    "an acceptance for ever": ("accepted", f"- {ACCEPTED.replace('2026-12-31', 'never')}}}"),
    "another section's word": ("accepted", f"- {ACCEPTED}, broker: 1}}"),
    "an unknown part of the report": ("accepted", f"- {ACCEPTED.replace('exposure', 'exposed')}}}"),
    "an owner of nothing": ("owners", "payments: []"),
    "a misspelt key of a name": ("metalog.toml", '[sources.prod]\nurl = "x"\ncofnig = "y"'),
    "a name for a name": ("metalog.toml", '[sources.prod]\nurl = "@test"'),
}


@pytest.mark.parametrize(("name", "text"), RIGHT)
def test_what_a_reader_takes_its_schema_takes(name: str, text: str, tmp_path: Path) -> None:
    READERS[name](text, tmp_path)
    text = re.sub(r"(any except \[.*?\])", r'"\1"', text)  # which only our reader takes bare
    for document in text.split("\n---\n"):
        assert faults(name, document) == []


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_one_to_both(mistake: str, tmp_path: Path) -> None:
    name, text = WRONG[mistake]
    with pytest.raises((InvalidRequest, InvalidSource)):
        READERS[name](text, tmp_path)
    assert faults(name, text)


@pytest.mark.parametrize("mistake", [each for each, (name, _) in WRONG.items() if name == "acls"])
def test_an_editor_shows_a_sentence_or_names_the_key_that_is_missing(mistake: str) -> None:
    """The YAML language server puts these two words of a schema in place of its own message."""
    name, text = WRONG[mistake]
    for error in validator(name).iter_errors(as_json(yaml.safe_load(text))):
        said = {"errorMessage", "patternErrorMessage"} & error.schema.keys()
        assert error.validator == "required" or said, error.message


def test_what_export_writes_fits(run: Run) -> None:
    assert faults("acls", run("export", DEMO / "log-dir", "-o", "yaml").stdout) == []


def test_the_command_prints_each(run: Run) -> None:
    for name in SCHEMAS:
        assert json.loads(run("schema", name).stdout) == schema(name)
