"""Messages: what is written comes back, in every version of every type."""

import json
import pickle
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from message_strategies import SCHEMAS, message_class, messages, versions_of

from metalog.errors import InvalidRequest
from metalog.records.frame import encode_body
from metalog.records.json import from_json, to_json
from metalog.records.messages import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    FenceBrokerRecord,
    NoOpRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UserScramCredentialRecord,
)
from metalog.records.primitives.fields import UNREADABLE

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
def test_a_message_comes_back_from_its_json_form(schema, version, data):
    message = data.draw(messages(schema, version, unknown_tags=False))
    assert from_json(schema.type_name, to_json(message, version), version) == message


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
    assert repr(from_json(record.TYPE_NAME, data, 0)) == repr(record)


@pytest.mark.parametrize("value", [10**400, "nan", "inf", "1", True, None])
def test_what_is_no_number_is_refused(value: object) -> None:
    data = to_json(ClientQuotaRecord(key="k", value=1.0), 0) | {"value": value}
    with pytest.raises(InvalidRequest, match="value is not a number"):
        from_json("CLIENT_QUOTA_RECORD", data, 0)
