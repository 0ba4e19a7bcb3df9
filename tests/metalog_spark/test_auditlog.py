"""Lines of audit files, in any splits: each becomes a row, or is rejected with a reason."""

from __future__ import annotations

import bz2
import gzip
import json
import random
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cramjam
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authorizer.audit.layouts import NOT_AUDIT, Zone
from metalog.errors import InvalidRequest
from metalog_spark.ingest.audit_files import (
    BLOCK_BYTES,
    DAMAGE_ERRORS,
    LONGEST_LINE,
    broker_of,
    unpacked,
)
from metalog_spark.ingest.audit_splits import Record, read_records, read_splits
from metalog_spark.ingest.lines.audit_lines import EMPTY, read_text
from metalog_spark.ingest.lines.audit_log import SCHEMA
from metalog_spark.ingest.lines.common_lines import common_lines
from metalog_spark.ingest.requests import READ
from metalog_spark.store.arrow import names_in
from tests.support.spark.audit_rows import rows_of

LINE = (
    "[2026-11-21 18:35:36,123] INFO Principal = User:app is Denied operation = READ from host ="
    " 10.0.0.1 on resource = Topic:LITERAL:payments for request = Fetch with resourceRefCount = 1"
    " based on rule DefaultDeny (kafka.authorizer.logger)"
)
GZ = "a.log.gz"
OLD_LINE = LINE[: LINE.index(" for request")]


def read(path: Path, split_bytes: int = 1 << 20, zone: str = "UTC") -> list[dict[str, Any]]:
    return [row for row in rows_of(path, split_bytes, zone) if row["possible"] is None]


def written(folder: Path, *lines: bytes | str, name: str = "a.log") -> Path:
    path = folder / name
    path.write_bytes(b"".join(each if isinstance(each, bytes) else each.encode() for each in lines))
    return path


def test_the_columns_are_those_of_the_tables() -> None:
    assert SCHEMA.names == names_in(READ)


def test_a_line_is_a_row_or_rejected(tmp_path: Path) -> None:
    path = written(
        tmp_path, f"{LINE}\n", "[2026-01-01 00:00:00,000] INFO started\n", f"\n{LINE}\r\n"
    )
    first, other, empty, last = read(path)
    assert first == {
        "time": first["time"],
        "broker": "a",
        "principal": "User:app",
        "host": "10.0.0.1",
        "operation": "READ",
        "resource_type": "TOPIC",
        "resource_name": "payments",
        "pattern_type": "LITERAL",
        "request_name": "Fetch",
        "resource_reference_count": 1,
        "result": "DENIED",
        "rule": "DefaultDeny",
        "ambiguous": False,
        "file": str(path),
        "line": 1,
        "day": first["time"].date(),
        "text": None,
        "reason": None,
        "possible": None,
        "start": 0,
        **dict.fromkeys(("zone", "lines", "bytes", "size", "head")),
    }
    assert first["time"].isoformat() == "2026-11-21T18:35:36.123000+00:00"
    assert last == {**first, "line": 4}
    said = [(row["line"], row["text"], row["reason"], row["principal"]) for row in (other, empty)]
    assert said == [
        (2, "[2026-01-01 00:00:00,000] INFO started", NOT_AUDIT, None),
        (3, "", EMPTY, None),
    ]


def test_a_day_is_utcs(tmp_path: Path) -> None:
    path = written(tmp_path, LINE.replace("18:35", "00:35") + "\n")
    assert [str(row["day"]) for row in read(path, zone="Europe/Berlin")] == ["2026-11-20"]


def test_what_is_no_utf_8_shows_and_is_ambiguous(tmp_path: Path) -> None:
    half = json.dumps({"ts": 1795286136, "message": LINE.replace("payments", "p\ud800")})
    path = written(
        tmp_path,
        LINE.replace("payments", "pö").encode("latin-1") + b"\n",
        LINE.replace("payments", "pö") + "\n",
        b"\xff\n",
        half + "\n",
    )
    rows = read(path)
    assert [row["resource_name"] for row in rows] == ["p\\xf6", "pö", None, "p\\xed\\xa0\\x80"]
    assert [row["ambiguous"] for row in rows] == [True, False, None, False]
    assert rows[2]["text"] == "\\xff"


def test_lines_end_at_lf_alone(tmp_path: Path) -> None:
    name = "a\rb\x85c\u2028d\x0be"
    [row] = read(written(tmp_path, LINE.replace("payments", name) + "\n"))
    assert row["resource_name"] == name


def test_a_line_that_the_file_ends_in_is_taken_only_if_it_is_whole(tmp_path: Path) -> None:
    [whole] = read(written(tmp_path, LINE))
    assert whole["reason"] is None
    for cut in range(len(LINE)):
        [row] = read(written(tmp_path, LINE[:cut] or "x"))
        if row["reason"] is None:
            assert row == whole
    [row] = read(written(tmp_path, OLD_LINE))
    assert row["reason"] == "cut: the file ends within this line"
    [row] = read(written(tmp_path, OLD_LINE + "\n"))
    assert row["resource_name"] == "payments"


def test_a_packed_file_is_read_up_to_its_damage(tmp_path: Path) -> None:
    lines = [LINE.replace("payments", f"topic-{number * 7919 % 10_007}") for number in range(2_000)]
    packed = gzip.compress("\n".join([*lines, ""]).encode())
    assert [row["line"] for row in read(written(tmp_path, packed, name=GZ))] == list(
        range(1, 2_001)
    )
    two = written(tmp_path, packed, b"\0" * 512, packed, name=GZ)
    assert len(read(two)) == 4_000
    half = len(packed) // 2
    changed = packed[:half] + bytes([packed[half] ^ 0x55]) + packed[half + 1 :]
    before_half: list[str] = []
    for damaged in packed[:half], packed[:-4], changed:
        rows = read(written(tmp_path, damaged, name=GZ))
        *good, last = rows
        assert [row["line"] for row in rows] == list(range(1, len(rows) + 1))
        assert last["reason"].startswith("the packed file is damaged, and the rest is lost")
        names = [row["resource_name"] for row in good if row["reason"] is None]
        sure = [f"topic-{number * 7919 % 10_007}" for number in range(len(names))]
        if damaged is changed:  # gzip may decompress what it does not know to be wrong
            sure = sure[: len(before_half)]
        assert names[: len(sure)] == sure
        before_half = before_half or names


def test_streams_that_are_packed_one_after_another_are_one_content() -> None:
    """Empty ones too, which Arrow cannot read in bzip2."""
    parts = [b"one\n", b"", random.Random(1).randbytes(3 << 17), b"", b"", b"last"]
    for pack in gzip.compress, bz2.compress, lambda data: bytes(cramjam.zstd.compress(data)):
        packed = b"".join(map(pack, parts))
        assert b"".join(unpacked(pa.py_buffer(packed))) == b"".join(parts)
        with pytest.raises(DAMAGE_ERRORS):
            list(unpacked(pa.py_buffer(packed + b"more")))


@pytest.mark.parametrize(
    ("packed_by", "smallest_part"),
    [
        (gzip.compress, 0),
        (bz2.compress, 0),
        (lambda data: bytes(cramjam.zstd.compress(data)), 1 << 17),
    ],
)
def test_nothing_that_can_be_read_before_damage_is_lost(
    packed_by: Callable[[bytes], bytes], smallest_part: int
) -> None:
    """At most the ``smallest_part`` that the format can decompress, in which the damage is."""

    def read_before_damage(damaged: bytes) -> bytes:
        blocks = []
        with pytest.raises(DAMAGE_ERRORS):
            blocks.extend(unpacked(pa.py_buffer(damaged)))  # it keeps what comes before an error
        assert max(map(len, blocks)) <= BLOCK_BYTES
        return b"".join(blocks)

    seeded = random.Random(1)
    text = b"".join(b"%d %s\n" % (at, seeded.randbytes(90).hex().encode()) for at in range(12_000))
    packed = packed_by(text)
    for at in len(packed) * 3 // 4, len(packed) - 4:
        changed = packed[:at] + bytes(byte ^ 0x55 for byte in packed[at:])
        before = read_before_damage(packed[:at])
        assert text.startswith(before)
        assert read_before_damage(changed).startswith(before)
    assert len(before) >= len(text) - smallest_part


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.gz", gzip.compress),
        ("a.bz2", bz2.compress),
        ("a.zst", lambda data: bytes(cramjam.zstd.compress(data))),
        ("a.gz", bytes),
    ],
)
def test_what_is_packed_comes_to_the_same_rows(tmp_path: Path, name: str, pack: Any) -> None:
    """With any compression, or only a compressed file's name."""
    data = f"{LINE}\n{OLD_LINE}\nother\n{LINE}".encode()
    plain, packed = written(tmp_path, data), written(tmp_path, pack(data), name=name)
    rows = [[{**row, "file": "", "broker": ""} for row in read(path)] for path in (plain, packed)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 4


def test_a_packed_file_that_is_not_called_so_says_what_to_do(tmp_path: Path) -> None:
    [row, *_] = read(written(tmp_path, gzip.compress(LINE.encode())))
    assert row["reason"].startswith("packed by gzip, and its name does not end in .gz")


def test_a_line_without_end_is_told_by_its_beginning(tmp_path: Path) -> None:
    long = "x" * (3 << 20)
    rows = read(written(tmp_path, f"{LINE}\n{long}\n{LINE}\n{long}"))
    assert [row["line"] for row in rows] == [1, 2, 3, 4]
    assert [row["reason"] is None for row in rows] == [True, False, True, False]
    assert rows[1]["text"] == "x" * 1_000
    assert rows[1]["reason"] == "longer than 1,048,576 bytes; the text is the line's beginning"


@pytest.mark.parametrize("before", [0, 1, 1_000, BLOCK_BYTES - 1, BLOCK_BYTES])
def test_the_longest_line_is_as_long_in_a_packed_file(tmp_path: Path, before: int) -> None:
    """Wherever the blocks end that the file is unpacked in."""
    most = [LONGEST_LINE, LONGEST_LINE + 1, 2 * LONGEST_LINE - 1, LONGEST_LINE, 3 * LONGEST_LINE]
    data = b"\n".join((b"y" * before, *(b"x" * size for size in most), LINE.encode()))
    plain, packed = written(tmp_path, data), written(tmp_path, gzip.compress(data), name=GZ)
    reasons = [{row["line"]: row["reason"] for row in read(path)} for path in (plain, packed)]
    assert reasons[0] == reasons[1]
    assert [n for n, why in reasons[1].items() if (why or "").startswith("longer")] == [3, 4, 6]


@pytest.mark.parametrize("end", ["", " for request = Fetch", " with a name of its own"])
def test_a_line_with_a_fault_is_counted_and_may_be_a_request(tmp_path: Path, end: str) -> None:
    """It is too long, or damage cuts it: its beginning may look like a whole line."""
    begun = f"{OLD_LINE}{end}" if end else LINE
    packer = zlib.compressobj(wbits=31)
    cut = packer.compress(f"{LINE}\n{begun}".encode()) + packer.flush(zlib.Z_SYNC_FLUSH)
    for path in (
        written(tmp_path, f"{LINE}\n{begun}{'x' * (1 << 20)}\n"),
        written(tmp_path, cut, name=GZ),
    ):
        first, *rows = [row for row in rows_of(path) if row["line"] < 3]
        assert (first["line"], first["reason"], first["possible"]) == (1, None, None)
        assert {row["line"] for row in rows} == {2}
        [rejected] = (row for row in rows if row["reason"] is not None)
        assert rejected["text"].startswith(begun)
        found = [row for row in rows if row["possible"]]
        assert len(found) == len(rows) - 1
        assert {row["principal"] for row in found} == {"User:app"}
        assert any("payments".startswith(row["resource_name"][:8]) for row in found)


@pytest.mark.parametrize("end", [LINE[:30], '{"', f" for request = {LINE}"])
def test_a_possible_request_is_another_than_the_request(end: str) -> None:
    found = read_text(f"{OLD_LINE} {end}", Zone("UTC"))
    assert found.request is not None
    assert found.request[0].ambiguous
    assert found.possible
    assert found.request[0] not in [each.row for each in found.possible]


@given(
    st.lists(st.sampled_from([b"\n", b"a", b"bc\n", b"\r\n", LINE.encode() + b"\n", b"d" * 40])),
    st.integers(1, 500),
)
def test_splits_agree_with_the_whole(pieces: list[bytes], split_bytes: int) -> None:
    with TemporaryDirectory() as folder:
        path = written(Path(folder), *pieces)
        whole, split = ([*rows_of(path, size)] for size in (1 << 20, split_bytes))
        for row in split:
            row["start"] = 0
        assert split == whole
        lines = b"".join(pieces).split(b"\n")
        numbers = {row["line"] for row in whole}
        assert numbers == {*range(1, len(lines) + bool(lines[-1]))}


def test_a_session_with_large_texts_has_the_same_rows() -> None:
    """The types of spark.sql.execution.arrow.useLargeVarTypes."""
    found = []
    for binary, string in (pa.binary(), pa.string()), (pa.large_binary(), pa.large_string()):
        columns = {
            "line": pa.array([LINE.encode(), b"other"], binary),
            "path": pa.array(["file:/b/a.log"] * 2, string),
            "start": [0, 0],
            "size": [len(LINE) + 7] * 2,
            "lines": [0, 0],
        }
        batches = read_splits([pa.record_batch(columns)], Zone("UTC"), None)
        found.append([batch.to_pylist() for batch in batches])
    assert found[0] == found[1]


PARTS = st.sampled_from(
    [
        "User:app",
        "User:CN=d is e",
        "x = y",
        " = ",
        "",
        "gr\xf6n",
        "a\tb",
        " from host",
        "p\xff",
        "User:x is Denied operation",
        "t for request",
        "LITERAL:",
        "=",
        " ",
        "Principal",
        "==",
    ]
)


@given(
    principal=PARTS,
    host=st.sampled_from(["10.0.0.1", "", "h h", "h="]),
    operation=st.sampled_from(["READ", "Describe", "DescribeConfigs", "REED", "read"]),
    kind=st.sampled_from(["Topic:LITERAL", "Group:PREFIXED", "Topic", "Tropic:LITERAL"]),
    name=PARTS,
    end=st.sampled_from(
        ["1 based on rule DefaultDeny", "9" * 10, "-1 based on rule SuperUser", "7"]
    ),
    prefix=st.sampled_from(
        [
            "[2026-11-21 18:35:36,123] INFO ",
            "2026-11-21T18:35:36.123 ",
            "2026-11-21 18:35:36,123 ",
            "[2026-11-21 18:65:36,123] INFO ",
            "[2026-11-21 18:35:66,123] ",
            "",
            "x",
            "[",
            "20",
            "[2026-10-25 02:30:00,000] DEBUG ",
            "[2026-11-21 18:35:36,123] FATAL ",
            "é" * 9,
        ]
    ),
    encoding=st.sampled_from(["utf-8", "latin-1"]),
)
def test_a_line_read_as_columns_is_as_one_that_is_read_alone(
    principal: str,
    host: str,
    operation: str,
    kind: str,
    name: str,
    end: str,
    prefix: str,
    encoding: str,
) -> None:
    """Other lines are left to the careful path."""
    zone = Zone("Europe/Berlin")
    text = (
        f"{prefix}Principal = {principal} is Allowed operation = {operation} from host = {host} on"
        f" resource = {kind}:{name} for request = Fetch with resourceRefCount = {end}"
    )
    lines = [LINE.encode(), text.encode(encoding), b"", text.encode(encoding) + b"\r"]
    common = common_lines(pa.array(lines, pa.binary()), zone)
    assert 0 in common.places
    columns = pa.table(common.columns).to_pylist()
    for place, micros, row in zip(common.places, common.micros, columns, strict=True):
        found = read_text(lines[place].decode(), zone)
        assert found.request is not None
        assert found.request[0]._asdict() == {**row, "ambiguous": False}
        assert found.request[1] == micros
        assert not found.rejected
        assert not found.possible


def test_records_of_any_size_are_read_without_being_held() -> None:
    """A record may have as many megabytes as its topic allows, with any content."""
    read = 0

    def records() -> Iterator[Record]:
        nonlocal read
        for read in range(1, 41):
            yield Record("t/0", "b", read, b"x" * (1 << 20))

    batches = read_records(records(), Zone("UTC"))
    first = next(batches)
    assert read < 20
    assert first.nbytes < 32 << 20
    assert first.num_rows + sum(batch.num_rows for batch in batches) == 40


def test_a_line_of_a_record_that_is_too_long_is_shown_as_that_of_a_file() -> None:
    lines = b"x" * (3 << 20) + f"\n{LINE}".encode()
    found = [
        row
        for batch in read_records([Record("t/0/7", "b", 1, lines)], Zone("UTC"))
        for row in batch.to_pylist()
        if row["possible"] is None
    ]
    good, long = sorted(found, key=lambda row: row["reason"] is not None)
    assert (good["principal"], good["line"], good["ambiguous"]) == ("User:app", 2, True)
    assert (long["line"], long["text"]) == (1, "x" * 1_000)
    assert long["reason"].startswith("longer than 1,048,576 bytes")


@pytest.mark.parametrize(
    ("path", "pattern", "broker"),
    [
        ("/logs/broker-1/kafka-authorizer.log", None, "broker-1"),
        ("/logs/broker-1/kafka-authorizer.log.2026-01-01-13", None, "broker-1"),
        ("/logs/kafka-7.log.gz", None, "kafka-7"),
        ("/logs/kafka-0_ns_kafka-ab12.log", None, "kafka-0_ns_kafka-ab12"),
        ("/logs/broker-1/kafka-authorizer.log", r"broker-(\d+)", "1"),
        ("/logs/broker-1/kafka-authorizer.log", r"broker-\d+", "broker-1"),
    ],
)
def test_a_broker_is_named_by_its_files(path: str, pattern: str | None, broker: str) -> None:
    assert broker_of(path, re.compile(pattern) if pattern else None) == broker


def test_a_pattern_that_finds_no_broker_is_pointed_out() -> None:
    with pytest.raises(InvalidRequest, match=r"x\.log: 'node\(.\)' finds no broker's name in this"):
        broker_of("/logs/x.log", re.compile("node(.)"))


@pytest.mark.parametrize("pattern", ["x()", r"node-(\d+)|x", "y*", "()(x)"])
def test_a_pattern_whose_name_is_empty_finds_no_broker(pattern: str) -> None:
    text = re.escape(f"/logs/x.log: {pattern!r} finds no broker's name in this path")
    with pytest.raises(InvalidRequest, match=text):
        broker_of("/logs/x.log", re.compile(pattern))
