"""A snapshot in Avro: any Avro reader reads it, and any damage is found."""

from __future__ import annotations

import io
import json
import random

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.errors import CorruptLog, CorruptSnapshot
from metalog.ids import SnapshotId
from metalog.records.avro.codec import NAMESPACE, union_schema
from metalog.records.avro.container import container
from metalog.records.avro.snapshot import END, Record, avro_snapshot, read_avro_snapshot
from metalog.records.batch import Batch
from metalog.records.checkpoint import check_snapshot, snapshot_batches
from metalog.records.message import Message
from metalog.records.messages import KRaftVersionRecord, VotersRecord
from metalog.records.schema import METADATA_RECORDS, MessageSchema
from tests.support.disk.memory_disk import MemoryReadable
from tests.support.disk.tiny_log import ace
from tests.support.worlds.message_strategies import messages, versions_of

ID = SnapshotId(723, 4)
NULLS = {"name": "n", "type": {"type": "array", "items": "null"}}
VOTERS: list[Record] = [(KRaftVersionRecord(0, 1), 0), (VotersRecord(0), 0)]
ACLS: list[tuple[Message, int]] = [(ace(number, f"topic-{number}"), 0) for number in range(3)]


def written(records: list[Record]) -> bytes:
    return b"".join(avro_snapshot(ID, 2000, 1000, records))


def read(data: bytes | bytearray, id: SnapshotId = ID) -> list[Batch]:
    return list(read_avro_snapshot(MemoryReadable(data), id, "a.avro"))


def facts(batches: list[Batch]) -> list[object]:
    return [(batch.base_offset, batch.epoch, batch.attributes, batch.data) for batch in batches]


def test_it_reads_as_the_checkpoint_of_the_same_records() -> None:
    checkpoint = snapshot_batches(
        ACLS,
        epoch=4,
        timestamp=2000,
        last_contained_timestamp=1000,
        control=VOTERS,  # type: ignore[arg-type]
    )
    assert facts(read(written([*VOTERS, *ACLS]))) == facts(list(checkpoint))


@pytest.mark.once
@pytest.mark.parametrize("schema", METADATA_RECORDS, ids=lambda schema: schema.name)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_every_record_in_every_version_comes_back(
    schema: MessageSchema, data: st.DataObject
) -> None:
    records = [(data.draw(messages(schema, version)), version) for version in versions_of(schema)]
    read_back = [
        batch for batch in check_snapshot(read(written([*records]))) if not batch.is_control
    ]
    assert [message for batch in read_back for message in batch.messages()] == [
        message for message, _ in records
    ]


def test_another_reader_of_avro_finds_the_fields_of_kafkas_json() -> None:
    *acls, end = fastavro.reader(io.BytesIO(written([*ACLS])))
    assert [acl["resourceName"] for acl in acls] == ["topic-0", "topic-1", "topic-2"]  # type: ignore[index,call-overload]
    assert end["records"] == 3  # type: ignore[index,call-overload]


def test_no_cut_is_taken_for_a_snapshot() -> None:
    whole = written([*ACLS])
    beginning = whole.index(b"topic-0") - 40
    cuts = [*random.Random(1).sample(range(beginning), 200), *range(beginning, len(whole))]
    for cut in cuts:
        with pytest.raises(CorruptLog):
            read(whole[:cut])
    with pytest.raises(
        CorruptSnapshot, match=r"a\.avro, byte \d+: the snapshot has no end: it was"
    ):
        read(whole[: whole.rindex(b"kraft-metalog/1\n", 0, -1) + 16])


@pytest.mark.once
def test_no_flipped_bit_goes_unseen() -> None:
    whole = written([*ACLS])
    beginning = whole.index(b"topic-0") - 40
    bits = random.Random(2).sample(range(8 * beginning), 300)
    damaged = bytearray(whole)
    for bit in [*bits, *range(8 * beginning, 8 * len(whole))]:
        damaged[bit >> 3] ^= 1 << (bit & 7)
        with pytest.raises(CorruptLog):
            read(damaged)
        damaged[bit >> 3] ^= 1 << (bit & 7)


def test_what_does_not_belong_together_is_refused() -> None:
    whole = written([*ACLS])
    with pytest.raises(CorruptSnapshot, match="the file's name says snapshot 0000000000000000072"):
        read(whole, SnapshotId(724, 4))
    with pytest.raises(CorruptSnapshot, match="other data follows the end"):
        read(whole + b"\0")
    with pytest.raises(CorruptSnapshot, match="a control record among the metadata records"):
        read(written([*ACLS, *VOTERS]))
    out = io.BytesIO()
    fastavro.writer(out, "string", ["hello"])
    with pytest.raises(CorruptSnapshot, match="its schema is not a union of records"):
        read(out.getvalue())
    assert END == "kraftmetalog.SnapshotEnd"


def test_a_schema_of_its_own_is_refused_before_a_record_is_read() -> None:
    """An array of nulls: a thousand million items in five bytes."""
    endless = [*union_schema(), {"type": "record", "name": END, "fields": [NULLS]}]
    head = {"avro.codec": b"null", f"{NAMESPACE}.endOffset": b"723", f"{NAMESPACE}.epoch": b"4"}
    blocks = [(1, b"\x00\x80\x80\x80\x80\x80\x01\x00")]
    for schema in (endless, union_schema()[:1] * 2, ["null"], {"type": "map", "values": "null"}):
        bomb = b"".join(container(json.dumps(schema), head, bytes(16), iter(blocks)))
        with pytest.raises(CorruptSnapshot):
            read(bomb)
    with pytest.raises(CorruptSnapshot, match="compressed with deflate"):
        read(deflated())


def deflated() -> bytes:
    out = io.BytesIO()
    about = {f"{NAMESPACE}.endOffset": "723", f"{NAMESPACE}.epoch": "4"}
    fastavro.writer(out, union_schema(), [], codec="deflate", metadata=about)
    return out.getvalue()
