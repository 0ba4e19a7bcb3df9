"""The fast path for an ACL record's value gives the same bytes, or leaves the value to the general
one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidRequest
from metalog.ids import Uuid
from metalog.records.acl_codes import record_of
from metalog.records.acl_fast_encode import acl_values, plain_acl_value
from metalog.records.frame import FRAME_VERSION, decode_value, encode_body, encode_value
from metalog.records.messages import AccessControlEntryRecord
from tests.support.worlds.small_acls import allow

codes = st.integers(-129, 129)
texts = st.text(max_size=300)
records = st.builds(
    AccessControlEntryRecord,
    st.binary(min_size=16, max_size=16).map(Uuid),
    codes, texts, codes, texts, texts, codes, codes,
    st.sampled_from([(), ((0, b"x"),)]),
)  # fmt: skip


@given(records)
def test_the_same_bytes(record: AccessControlEntryRecord) -> None:
    value = plain_acl_value(record)
    out = bytearray((FRAME_VERSION, AccessControlEntryRecord.API_KEY, 0))
    try:
        encode_body(record, 0, out)
    except InvalidRequest:
        assert value is None
        with pytest.raises(InvalidRequest):
            encode_value(record, 0)
        return
    assert value in (None, out)
    assert encode_value(record, 0) == out
    if all(text < "\ud800" for text in record[2:6] if isinstance(text, str)):
        assert decode_value(bytes(out)) == (0, record)


def test_it_is_taken_for_what_a_kafka_has() -> None:
    plain = AccessControlEntryRecord(Uuid(bytes(16)), 2, "t", 3, "User:a", "*", 3, 3)
    assert plain_acl_value(plain) is not None
    assert plain_acl_value(plain._replace(id=Uuid(b"short"))) is None
    with pytest.raises(InvalidRequest, match="has no version 1"):
        encode_value(plain, 1)


@given(
    st.lists(
        st.tuples(
            st.binary(min_size=16, max_size=16).map(Uuid),
            st.builds(
                Acl,
                st.sampled_from(ResourceType), texts, st.sampled_from(PatternType), texts, texts,
                st.sampled_from(Operation), st.sampled_from(PermissionType),
            ),
        ),
        max_size=3,
    )
)  # fmt: skip
def test_acls_of_an_image_give_the_bytes_of_their_records(acls: list[tuple[Uuid, Acl]]) -> None:
    expected = [encode_value(record_of(uuid, acl), 0) for uuid, acl in acls]
    assert list(acl_values(acls)) == expected


@pytest.mark.parametrize("length", [125, 126, 127, 128, 32_767])
def test_so_does_a_name_at_each_edge_of_its_lengths_size(length: int) -> None:
    name, uuid = "n" * length, Uuid(bytes(16))
    acl = allow(name, principal=name, host=name)
    assert list(acl_values([(uuid, acl)])) == [encode_value(record_of(uuid, acl), 0)]
    with pytest.raises(ValueError, match="bytes"):
        list(acl_values([(uuid, acl._replace(resource_name="n" * 32_768))]))
