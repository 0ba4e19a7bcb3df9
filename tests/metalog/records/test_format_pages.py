"""The example bytes in docs/formats decode as the pages say."""

import json
import re

from metalog.ids import parse_uuid
from metalog.log.topic.address import WRITER_SUFFIX
from metalog.log.topic.records import APPEND_HEADER, SCHEMA_HEADER, Stored, outgoing, read_header
from metalog.log.topic.writer import NEW_TOPIC
from metalog.records.avro.codec import fingerprint_of, from_avro, to_avro
from metalog.records.batch import build_batch, decode_batch, encode_batch
from metalog.records.checkpoint import check_snapshot
from metalog.records.control import decode_control, encode_control
from metalog.records.frame import decode_value, encode_value
from metalog.records.messages import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    RemoveAccessControlEntryRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from metalog.records.messages.leader_change_message import Voter
from tests.support.kafka.cases import REPOSITORY

PAGES = REPOSITORY / "docs" / "formats"
ACL = AccessControlEntryRecord(
    parse_uuid("ViCliXyTQoq9pxsYTEzeNQ"), 2, "audit", 3, "User:fraud-check", "*", 4, 3
)


def tables(page: str) -> list[list[tuple[list[str], bytes]]]:
    """The rows of each table with a column of bytes: all cells, and the bytes."""
    found: list[list[tuple[list[str], bytes]]] = []
    in_table = False
    for line in (PAGES / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        quoted = [cell.strip("`") for cell in cells[:2] if re.fullmatch(r"`[0-9a-f ]+`", cell)]
        if quoted and not in_table:
            found.append([])
        in_table = bool(quoted) or (in_table and line.startswith("|"))
        if quoted:
            found[-1].append((cells, bytes.fromhex(quoted[0].replace(" ", ""))))
    return found


def joined(rows: list[tuple[list[str], bytes]]) -> bytes:
    return b"".join(part for _, part in rows)


def assert_positions_are_right(rows: list[tuple[list[str], bytes]], at: int = 0) -> int:
    for cells, part in rows:
        assert int(cells[0]) == at
        at += len(part)
    return at


def test_batch():
    [rows] = tables("batch.md")
    assert_positions_are_right(rows)
    batch = decode_batch(joined(rows))
    assert encode_batch(batch) == joined(rows)
    assert batch.messages() == [ACL]
    said = {cells[2].split(":")[0]: cells[3] for cells, _ in rows}
    assert said["base offset"] == str(batch.base_offset)
    assert said["CRC-32C of all bytes from 21 on"] == str(batch.crc)
    assert said["base timestamp, milliseconds"] == str(batch.base_timestamp)
    assert said["length"] == str(batch.size - 12)
    assert said["record count"] == str(batch.record_count)


def test_frame():
    frame, tagged, control_key, control_value = map(joined, tables("frame.md"))
    assert decode_value(frame) == (0, ACL)
    assert encode_value(ACL, 0) == frame
    abort = AbortTransactionRecord("Controller failover")
    assert decode_value(tagged) == (0, abort)
    assert encode_value(abort, 0) == tagged
    leader_change = LeaderChangeMessage(0, 1, (Voter(1),), (Voter(1),))
    assert decode_control(control_key, control_value) == (0, leader_change)
    assert encode_control(leader_change, 0) == (control_key, control_value)


def test_checkpoint():
    first, last = tables("checkpoint.md")
    assert_positions_are_right(last, assert_positions_are_right(first))
    batches = [decode_batch(joined(rows)) for rows in (first, last)]
    assert [encode_batch(batch) for batch in batches] == [joined(first), joined(last)]
    header, version, voters = batches[0].messages()
    assert header == SnapshotHeaderRecord(0, 1795252482789)
    assert version == KRaftVersionRecord(0, 1)
    assert isinstance(voters, VotersRecord)
    assert [endpoint.port for endpoint in voters.voters[0].endpoints] == [21200]
    assert batches[1].messages() == [SnapshotFooterRecord(0)]
    assert list(check_snapshot(batches)) == batches[:1]


def test_topic():
    header, key, value = map(joined, tables("topic.md"))
    removal = RemoveAccessControlEntryRecord(ACL.id)
    first, second = outgoing(build_batch(18, 3, 1000, [(ACL, 0), (removal, 0)]), "kraft", 17)
    assert first == (None, encode_value(ACL, 0), [("metalog.append", header)])
    assert read_header(Stored(18, 1000, *first), "topic") == (3, 17, 0, 2)
    assert read_header(Stored(19, 1000, *second), "topic") == (3, 17, 1, 2)
    assert decode_control(key, value) == (0, LeaderChangeMessage(0, 1, (Voter(1),), (Voter(1),)))
    batch = build_batch(0, 1, 1000, [(LeaderChangeMessage(0, 1, (Voter(1),), (Voter(1),)), 0)])
    [claim] = outgoing(batch, "kraft", 0)
    assert claim[:2] == (key, value)
    said = (PAGES / "topic.md").read_text()
    assert all(f"`{name}`" in said for name in (*NEW_TOPIC, APPEND_HEADER, SCHEMA_HEADER))
    assert f"`TOPIC{WRITER_SUFFIX}`" in said


def test_avro():
    [value] = map(joined, tables("avro.md"))
    fingerprint, written = to_avro(ACL, 0)
    assert written == value
    assert from_avro(fingerprint, value) == (ACL, 0)
    assert f"| AccessControlEntryRecord | 0 | `{fingerprint.hex()}` |" in (
        (PAGES / "avro.md").read_text()
    )
    lines = map(json.loads, (PAGES / "avro-schemas.jsonl").read_text().splitlines())
    schemas = {line["fingerprint"]: line["schema"] for line in lines}
    assert all(fingerprint_of(schema).hex() == key for key, schema in schemas.items())
    assert fingerprint.hex() in schemas


def test_every_page_is_listed():
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (PAGES / "README.md").read_text()))
    assert listed == {page.name for page in PAGES.glob("*.md")} - {"README.md"}
