"""Compares the schema, field by field, with the definitions in Kafka's jars."""

import json
import re
import zipfile

import pytest

from metalog.records.messages.registry import control_message_type, message_type
from metalog.records.schema import CONTROL_RECORDS, METADATA_RECORDS

CONTROL_TYPE_CLASS = "org/apache/kafka/common/record/internal/ControlRecordType.class"
NO_MESSAGE = {"ABORT", "COMMIT", "UNKNOWN", "VALUES"}
SINCE = {"UnregisterControllerRecord": "4.4"}
"""The first Kafka with a record, if that is not the oldest version here."""


def definitions(jars, jar, folder):
    [path] = jars.glob(f"{jar}-4.*.jar")
    found = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith(folder) and name.endswith(".json"):
                text = re.sub(r"^\s*//.*$", "", archive.read(name).decode(), flags=re.MULTILINE)
                definition = json.loads(text)
                found[definition["name"]] = definition
    return found


@pytest.fixture(scope="module")
def metadata_definitions(either_kafka):
    return definitions(either_kafka.jars, "kafka-metadata", "common/metadata/")


@pytest.fixture(scope="module")
def message_definitions(either_kafka):
    return definitions(either_kafka.jars, "kafka-clients", "common/message/")


def kafkas(fields, structs):
    """Fields as Kafka declares them; a common struct stands at its first use."""
    structs = dict(structs)
    for field in fields:
        inner = field.get("fields") or structs.pop(field["type"].removeprefix("[]"), ())
        yield {
            "name": field["name"],
            "type": field["type"],
            "versions": field["versions"],
            "nullable": field.get("nullableVersions"),
            "tag": field.get("tag"),
            "tagged": field.get("taggedVersions"),
            "default": field.get("default"),
            "ignorable": field.get("ignorable", False),
            "fields": list(kafkas(inner, structs)),
        }


def ours(fields):
    for field in fields:
        yield {
            "name": field.name,
            "type": field.type,
            "versions": field.versions,
            "nullable": field.nullable,
            "tag": field.tag,
            "tagged": field.tagged,
            "default": field.default,
            "ignorable": False,
            "fields": list(ours(field.fields)),
        }


def common_structs(definition):
    return {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", ())}


def assert_same(schema, definition):
    assert schema.versions == definition["validVersions"]
    assert definition["flexibleVersions"] == "0+"
    assert list(ours(schema.fields)) == list(
        kafkas(definition["fields"], common_structs(definition))
    )


def test_every_metadata_record_of_kafka_is_declared(either_kafka, metadata_definitions):
    assert {
        schema.name: schema.key
        for schema in METADATA_RECORDS
        if either_kafka.release >= SINCE.get(schema.name, "")
    } == {name: definition["apiKey"] for name, definition in metadata_definitions.items()}


@pytest.mark.parametrize("schema", METADATA_RECORDS, ids=lambda schema: schema.name)
def test_a_metadata_record_is_declared_as_kafka_declares_it(
    schema, either_kafka, metadata_definitions
):
    if either_kafka.release >= SINCE.get(schema.name, ""):
        assert_same(schema, metadata_definitions[schema.name])


@pytest.mark.parametrize("schema", CONTROL_RECORDS, ids=lambda schema: schema.name)
def test_a_control_record_is_declared_as_kafka_declares_it(schema, message_definitions):
    assert_same(schema, message_definitions[schema.name])


def test_every_control_type_of_kafka_has_a_message(either_kafka):
    """Except for those of a producer's transactions; the names are strings in the enum's class."""
    [path] = either_kafka.jars.glob("kafka-clients-4.*.jar")
    with zipfile.ZipFile(path) as archive:
        code = archive.read(CONTROL_TYPE_CLASS)
    names = {name.decode() for name in re.findall(rb"[A-Z]+(?:_[A-Z]+)*", code) if len(name) > 4}
    names -= {name for name in names if "CONTROL_RECORD" in name}
    assert names - NO_MESSAGE == {schema.type_name for schema in CONTROL_RECORDS}


def test_classes_are_found_by_key():
    for schema in METADATA_RECORDS:
        message = message_type(schema.key)
        assert (message.__name__, message.API_KEY) == (schema.name, schema.key)
    for schema in CONTROL_RECORDS:
        message = control_message_type(schema.key)
        assert (message.__name__, message.CONTROL_TYPE) == (schema.name, schema.key)
    assert message_type(6) is None
    assert control_message_type(0) is None
