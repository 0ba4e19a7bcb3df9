"""ACLs in Avro: no changed byte turns into another ACL, and no schema exhausts memory."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest

from metalog.acl import ACL_KEYS
from metalog.errors import InvalidRequest
from metalog.records.avro.container import container
from metalog_sources.formats.avro import SCHEMA, read_avro, write_avro
from metalog_sources.formats.document import AclEntry, AclNotes, Document
from tests.support.worlds.small_acls import deny

ACLS = Document(
    tuple(
        AclEntry(
            deny(f"orders-{number}", principal=f"User:app{number}"), AclNotes(comment="of the team")
        )
        for number in range(3)
    )
)
SYNC = b"0123456789abcdef"
NULLS = {"type": "array", "items": "null"}


def one_bit_flipped(data: bytes) -> Iterator[bytes]:
    for byte in range(len(data)):
        yield data[:byte] + bytes((data[byte] ^ 1 << byte % 8,)) + data[byte + 1 :]


def number(value: int) -> bytes:
    out = bytearray()
    value = value << 1 ^ value >> 63
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def file_of(schema: Any, count: int, data: bytes, codec: bytes = b"null") -> bytes:
    metadata = {"avro.codec": codec}
    return b"".join(container(json.dumps(schema), metadata, SYNC, iter([(count, data)])))


def with_fields(*types: Any) -> dict[str, Any]:
    more = [{"name": f"f{index}", "type": each} for index, each in enumerate(types)]
    return {**SCHEMA, "fields": [*more, *SCHEMA["fields"]]}


def deflated(data: bytes, times: int) -> bytes:
    """Compressed once: after a full flush the same block can be repeated."""
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (stream.compress(data) + stream.flush(zlib.Z_FULL_FLUSH)) * times + stream.flush()


def test_a_changed_bit_is_refused_or_changes_nothing() -> None:
    whole = write_avro(ACLS)
    for mutant in one_bit_flipped(whole):
        try:
            found = read_avro(mutant, "a.avro")
        except InvalidRequest:
            continue
        assert [entry[:2] for entry in found.document.entries] == [
            entry[:2] for entry in ACLS.entries
        ]


def test_any_avro_reader_reads_it_and_finds_the_checksum() -> None:
    reader: Any = fastavro.reader(io.BytesIO(write_avro(ACLS)))
    assert [each["resourceName"] for each in reader] == ["orders-0", "orders-1", "orders-2"]
    assert int(reader.metadata["kraftmetalog.crc32c"]) > 0


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz", "snappy"])
def test_a_file_of_another_writer_is_read_with_a_note(codec: str) -> None:
    records = list(fastavro.reader(io.BytesIO(write_avro(ACLS))))
    target = io.BytesIO()
    fastavro.writer(target, SCHEMA, records, codec=codec)
    document, problem = read_avro(target.getvalue(), "a.avro")
    assert document.acls == ACLS.acls
    assert problem is not None
    assert "without metalog's checksum" in problem
    assert read_avro(write_avro(ACLS), "a.avro").problem is None


@pytest.mark.parametrize("name", ["topLevelRecord", "org.example.Acl", "Row"])
def test_a_record_of_any_name_is_read_if_its_fields_fit(name: str) -> None:
    """Spark names it topLevelRecord, and lets each field be null. Some fields are missing."""
    records = list(fastavro.reader(io.BytesIO(write_avro(ACLS))))
    fields = [{"name": key, "type": ["string", "null"]} for key in (*ACL_KEYS, "comment")]
    target = io.BytesIO()
    fastavro.writer(target, {"type": "record", "name": name, "fields": fields}, records)
    assert read_avro(target.getvalue(), "a.avro").document.acls == ACLS.acls
    fewer = {"type": "record", "name": name, "fields": fields[1:]}
    with pytest.raises(InvalidRequest, match=r"^a\.avro: .* No default value for .*resourceType"):
        read_avro(file_of(fewer, 1, b"\0\0" * len(ACL_KEYS)), "a.avro")


def test_a_null_is_named_with_its_record_and_field() -> None:
    records = list(fastavro.reader(io.BytesIO(write_avro(ACLS))))
    fields = [{"name": key, "type": ["string", "null"]} for key in ACL_KEYS]
    target = io.BytesIO()
    with_null = [records[0], {**records[1], "host": None}]
    fastavro.writer(target, {**SCHEMA, "fields": fields}, with_null)
    with pytest.raises(InvalidRequest, match=r"^a\.avro, record 2: host is null; give it a value$"):
        read_avro(target.getvalue(), "a.avro")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (file_of(with_fields(NULLS), 1, number(1 << 40) + b"\0"), "'f0' is not a plain value"),
        (file_of({**SCHEMA, "fields": [{"name": "a", "type": NULLS}]}, 1, b"\2\0"), "'a' is not"),
        (file_of(with_fields("kraftmetalog.Acl"), 1, b"\0"), "'f0' is not a plain value"),
        (file_of(with_fields({"type": "map", "values": "int"}), 1, b"\0"), "'f0' is not"),
        (file_of(with_fields(["null", {"type": "record"}]), 1, b"\0"), "'f0' is not"),
        (file_of(with_fields({"type": "bytes", "logicalType": "decimal"}), 1, b"\0"), "'f0'"),
        (file_of(with_fields(*["null"] * 60), 1, b"\0"), "more than 64 fields"),
        (file_of({**SCHEMA, "fields": []}, 1 << 40, b""), "a block of 1,099,511,627,776 records"),
        (file_of(SCHEMA, 1, number(1 << 40)), "Expected 1099511627776 bytes"),
        (file_of(SCHEMA, 1, deflated(bytes(1 << 20), 80), b"deflate"), "more than 67,108,864"),
        (file_of(SCHEMA, 4_000_000, deflated(bytes(1 << 20), 60), b"deflate"), "500,000 ACLs"),
        (file_of(SCHEMA, 0, b"\0" * 12), "12 bytes follow"),
        (b"Obj\1" + number(1) + number(1 << 40), "metadata has more than 1,048,576 bytes"),
        (b"Obj\1" + number(-1) + b"\xff" * 12, "more than ten bytes"),
    ],
)
def test_a_bomb_is_refused_before_it_is_read(data: bytes, said: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^a\.avro: not an Avro file of ACLs: ") as raised:
        read_avro(data, "a.avro")
    assert said in str(raised.value)
    assert len(str(raised.value)) < 300
