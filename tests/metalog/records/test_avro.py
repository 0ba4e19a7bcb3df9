"""Messages as Avro: nothing is lost, and an unreadable message has a reason."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.errors import InvalidRequest
from metalog.records.avro.codec import avro_types, fingerprint_of, from_avro, to_avro
from metalog.records.frame import encode_value
from metalog.records.messages import AccessControlEntryRecord, LeaderChangeMessage
from metalog.records.schema import CONTROL_RECORDS, METADATA_RECORDS
from tests.support.worlds.message_strategies import messages

SCHEMAS = {schema.name: schema for schema in (*METADATA_RECORDS, *CONTROL_RECORDS)}
TYPES = [pytest.param(each, id=f"{each.name}-{each.version}") for each in avro_types()]


@pytest.mark.once
@pytest.mark.parametrize("avro", TYPES)
@settings(max_examples=15)
@given(data=st.data())
def test_a_message_is_the_same_after_avro(avro, data) -> None:  # type: ignore[no-untyped-def]
    message = data.draw(messages(SCHEMAS[avro.name], avro.version))
    fingerprint, value = to_avro(message, avro.version)
    assert fingerprint == avro.fingerprint
    assert from_avro(fingerprint, value) == (message, avro.version)


def test_every_metadata_record_in_every_version_has_a_schema_of_its_own() -> None:
    versions = {schema.name: schema.versions for schema in METADATA_RECORDS}
    for name, declared in versions.items():
        first, _, last = declared.partition("-")
        found = [each.version for each in avro_types() if each.name == name]
        assert found == list(range(int(first), int(last or first) + 1))
    assert len({each.fingerprint for each in avro_types()}) == len(avro_types())


def test_fingerprints_are_avros() -> None:
    """CRC-64-AVRO of ``"int"`` in the share/test data of Avro's own repository."""
    assert int.from_bytes(fingerprint_of("int"), "little") == 0x7275D51A3F395C8F


def test_any_reader_of_avro_reads_it_with_the_schema() -> None:
    acl = AccessControlEntryRecord(bytes(16), 2, "t", 3, "User:a", "*", 3, 3)  # type: ignore[arg-type]
    fingerprint, value = to_avro(acl, 0)
    [schema] = [each.schema for each in avro_types() if each.fingerprint == fingerprint]
    assert fastavro.schemaless_reader(io.BytesIO(value), schema, None) == {
        "id": bytes(16),
        "resourceType": 2,
        "resourceName": "t",
        "patternType": 3,
        "principal": "User:a",
        "host": "*",
        "operation": 3,
        "permissionType": 3,
        "unknownTaggedFields": [],
    }


def test_what_cannot_be_read_says_why() -> None:
    fingerprint, value = to_avro(LeaderChangeMessage(0, 7), 0)
    with pytest.raises(ValueError, match="the Avro schema 0000000000000000 is unknown"):
        from_avro(bytes(8), value)
    with pytest.raises(ValueError, match="1 bytes follow the Avro of LEADER_CHANGE version 0"):
        from_avro(fingerprint, value + b"\0")
    with pytest.raises(ValueError, match="not Avro of LEADER_CHANGE version 0"):
        from_avro(fingerprint, value[:-1])


@given(st.sampled_from([each.fingerprint for each in avro_types()]), st.binary(max_size=40))
def test_nothing_but_a_value_error_escapes_a_reader(fingerprint: bytes, value: bytes) -> None:
    with suppress(ValueError):  # InvalidRequest is none
        written = to_avro(*from_avro(fingerprint, value))
        assert to_avro(*from_avro(*written)) == written


@pytest.mark.parametrize(
    "bad",
    [
        *({"operation": each} for each in (300, -129, 3.7, 1 << 40, None, "3")),
        *({"host": each} for each in (None, 5, b"*", "\ud800", "x" * 0x8000)),
        {"id": bytes(15)},
        *({"unknown_tagged_fields": ((tag, b""),)} for tag in (-1, 1 << 32)),
    ],
)
def test_a_value_that_kafka_cannot_hold_is_refused(bad: dict[str, Any]) -> None:
    acl = AccessControlEntryRecord(bytes(16), 2, "t", 3, "User:a", "*", 3, 3)._replace(**bad)
    with pytest.raises(InvalidRequest, match=r"^ACCESS_CONTROL_ENTRY_RECORD cannot be written"):
        to_avro(acl, 0)
    if bad != {"host": "\ud800"}:  # as in Java, a frame has a question mark in its place
        with pytest.raises(InvalidRequest, match=r"^ACCESS_CONTROL_ENTRY_RECORD cannot be written"):
            encode_value(acl, 0)


def test_the_field_that_no_utf_8_can_hold_is_named() -> None:
    acl = AccessControlEntryRecord(bytes(16), 2, "t", 3, "User:\ud800", "*", 3, 3)
    with pytest.raises(InvalidRequest) as refused:
        to_avro(acl, 0)
    assert str(refused.value) == (
        "ACCESS_CONTROL_ENTRY_RECORD cannot be written as Avro: its principal is not Unicode text;"
        " write another one"
    )


@pytest.mark.parametrize("number", [300, -129, 2**31 - 1])
def test_a_number_that_kafka_cannot_hold_is_not_read(number: int) -> None:
    """Avro has no integers of 8 and 16 bits."""
    fingerprint, value = to_avro(AccessControlEntryRecord(bytes(16), 2, "t", 3, "p", "*", 3, 3), 0)
    [schema] = [each.schema for each in avro_types() if each.fingerprint == fingerprint]
    parsed = fastavro.parse_schema(schema)
    datum: Any = fastavro.schemaless_reader(io.BytesIO(value), parsed, None)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, datum | {"permissionType": number})
    with pytest.raises(ValueError, match="not a record of Kafka: ACCESS_CONTROL_ENTRY_RECORD"):
        from_avro(fingerprint, out.getvalue())


def test_a_version_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="LEADER_CHANGE version 9 has no Avro schema"):
        to_avro(LeaderChangeMessage(9, 7), 9)
