"""A message in every version of every type reads back equal."""

import json
import pickle
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.errors import InvalidRequest
from metalog.records.frame import encode_body
from metalog.records.masking import to_json
from metalog.records.messages import (
    AccessControlEntryRecord,
    BeginTransactionRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UserScramCredentialRecord,
)
from metalog.records.primitives.fields import UNREADABLE
from tests.support.worlds.message_strategies import (
    SCHEMAS,
    json_form,
    message_class,
    messages,
    versions_of,
)

EVERY_VERSION = [(schema, version) for schema in SCHEMAS for version in versions_of(schema)]
every_version = pytest.mark.parametrize(
    ("schema", "version"), EVERY_VERSION, ids=[f"{s.name}-{v}" for s, v in EVERY_VERSION]
)


@every_version
@settings(max_examples=20)
@given(data=st.data())
def test_a_message_comes_back_from_its_bytes(schema, version, data):
    message = data.draw(messages(schema, version))
    out = bytearray()
    encode_body(message, version, out)
    assert message_class(schema).decode(bytes(out), 0, version) == (message, len(out))


@every_version
@settings(max_examples=20)
@given(data=st.data())
def test_the_json_form_has_the_fields_of_the_version_in_the_schemas_order(schema, version, data):
    message = data.draw(messages(schema, version))
    as_json = json_form(message, schema.fields, version)
    assert to_json(message, version) == as_json
    compact = json.dumps(as_json, ensure_ascii=False, separators=(",", ":"))
    assert message.json_text(version) == compact


COUNTS = (0, 1, 62, 63, 64, 126, 127, 200)
"""Numbers of items: around the end of the one-by-one path of ``fields``, and of one-byte
lengths."""
numbered = pytest.mark.parametrize("count", COUNTS)


@numbered
def test_arrays_of_any_length_come_back(count):
    numbers, uuids = tuple(range(-1, count - 1)), (bytes(range(16)),) * count
    change = PartitionChangeRecord(isr=numbers, directories=uuids, last_known_elr=numbers)
    partition = PartitionRecord(0, bytes(16), numbers, directories=uuids)
    for record in (change, partition._replace(eligible_leader_replicas=numbers)):
        out = bytearray()
        encode_body(record, 2, out)
        assert type(record).decode(bytes(out), 0, 2) == (record, len(out))


@numbered
def test_texts_and_bytes_of_any_length_come_back(count):
    token = DelegationTokenRecord("o" * count, "é" * count, ("r" * count,) * count)
    secret = UserScramCredentialRecord("u", 1, b"s" * count, b"", b"", 4096)
    for record in (token, secret, BeginTransactionRecord("n" * count), ConfigRecord(value=None)):
        record = record._replace(unknown_tagged_fields=((99, b"x" * count), (count + 100, b"")))
        out = bytearray()
        encode_body(record, 0, out)
        assert type(record).decode(bytes(out), 0, 0) == (record, len(out))


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("010500000001ff", "field 1 has 5 bytes, but its value takes 4"),
        ("01030000000100", "field 1 has 3 bytes, but its value takes 4"),
        ("00050300000001", "field 0 has 5 bytes, but its value takes 9"),
        ("01040000", "field 1 is cut short"),
        ("01", "out of range"),
        ("0001ff", "out of range"),
        ("8080808080", "varint"),
    ],
)
def test_a_tagged_field_of_another_size_than_its_value_is_refused(field, problem):
    body = bytes(20) + b"\1" + bytes.fromhex(field) + bytes(8 * ("takes 9" in problem))
    with pytest.raises(UNREADABLE, match=problem):
        PartitionChangeRecord.decode(body, 0, 0)


@pytest.mark.once
@every_version
@settings(max_examples=5)
@given(data=st.data())
def test_no_prefix_of_a_message_is_a_message(schema, version, data):
    out = bytearray()
    encode_body(data.draw(messages(schema, version)), version, out)
    for size in range(len(out)):
        with pytest.raises(UNREADABLE):
            message_class(schema).decode(bytes(out[:size]), 0, version)


@pytest.mark.once
@every_version
@settings(max_examples=50)
@given(data=st.data())
def test_any_bytes_are_a_message_or_refused_in_a_known_way(schema, version, data):
    body = data.draw(st.binary(max_size=200))
    try:
        message_class(schema).decode(body, 0, version)
    except UNREADABLE:
        return


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda s: s.name)
def test_a_message_without_arguments_has_the_defaults_and_can_be_written(schema):
    message = message_class(schema)()
    for version in versions_of(schema):
        encode_body(message, version, bytearray())


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda s: s.name)
def test_a_message_is_pickled_whole(schema):
    message = message_class(schema)()
    assert pickle.loads(pickle.dumps(message)) == message


def test_messages_of_two_types_are_never_equal():
    fence, unfence = FenceBrokerRecord(1, 2), UnfenceBrokerRecord(1, 2)
    assert fence != unfence
    assert not fence == unfence  # noqa: SIM201 (both operators are ours)
    assert fence != (1, 2, ())
    assert NoOpRecord() != ()


def test_equal_messages_have_equal_hashes():
    assert hash(FenceBrokerRecord(1, 2)) == hash(FenceBrokerRecord(1, 2))
    assert FenceBrokerRecord(1, 2) != FenceBrokerRecord(1, 3)


def test_a_repr_shows_no_secret():
    secret = b"\x01secret"
    record = UserScramCredentialRecord("u", 1, secret, secret, secret, 4096)
    assert "secret" not in repr(record)
    assert "'u'" in repr(record)
    assert "s3cr3t" not in repr(ConfigRecord(4, "1", "ssl.key.password", "s3cr3t"))


def test_a_repr_shows_uuids_as_kafka_does():
    assert "incarnation_id=AAAAAAAAAAAAAAAAAAAAAA" in repr(RegisterBrokerRecord())


def test_a_message_cannot_be_changed():
    with pytest.raises(AttributeError):
        AccessControlEntryRecord().host = "*"


def test_a_field_that_the_version_lacks_is_refused_not_lost():
    broker = RegisterBrokerRecord(in_controlled_shutdown=True, log_dirs=(bytes(16),))
    encode_body(broker, 3, bytearray())
    for version, field in ((2, "log_dirs"), (0, "in_controlled_shutdown")):
        with pytest.raises(InvalidRequest, match=field):
            encode_body(broker, version, bytearray())


@pytest.mark.parametrize(
    "message",
    [
        AccessControlEntryRecord(operation=128),
        AccessControlEntryRecord(id=b"short"),
        AccessControlEntryRecord(host=None),
        RegisterBrokerRecord(log_dirs=(b"short",)),
        RegisterBrokerRecord(broker_id=1 << 31),
        RegisterBrokerRecord(end_points=("no endpoint",)),
    ],
)
def test_a_value_that_does_not_fit_is_the_callers_fault(message):
    with pytest.raises(InvalidRequest, match="cannot be written"):
        encode_body(message, message.VERSIONS[-1], bytearray())


def test_a_version_that_does_not_exist_cannot_be_written():
    with pytest.raises(InvalidRequest, match="no version 9"):
        encode_body(NoOpRecord(), 9, bytearray())


@pytest.mark.parametrize(
    ("value", "written"),
    [(nan, '"NaN"'), (inf, '"Infinity"'), (-inf, '"-Infinity"'), (-0.0, "-0.0"), (1.5, "1.5")],
)
def test_a_number_that_json_lacks_is_a_text_as_kafka_writes_it(value: float, written: str) -> None:
    record = ClientQuotaRecord(key="k", value=value)
    data = to_json(record, 0)
    assert json.dumps(data["value"]) == written
