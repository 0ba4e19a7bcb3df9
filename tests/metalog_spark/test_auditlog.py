"""Files of audit lines: found, known again, divided; each line a row or rejected with a reason."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authorizer.audit_layout import NOT_AUDIT, Zone
from metalog.errors import InvalidRequest
from metalog_spark import auditfiles
from metalog_spark.auditfiles import (
    Head,
    broker_of,
    count_lines,
    find_files,
    parts_of,
    read_blocks,
    sorted_out,
)
from metalog_spark.auditlog import EMPTY, SCHEMA, Record, Told, read_batches, read_records
from metalog_spark.beforehand import check_can_be_followed
from metalog_spark.tables import REJECTED, REQUESTS

LINE = (
    "[2026-11-21 18:35:36,123] INFO Principal = User:app is Denied operation = READ from host ="
    " 10.0.0.1 on resource = Topic:LITERAL:payments for request = Fetch with resourceRefCount = 1"
    " based on rule DefaultDeny (kafka.authorizer.logger)"
)
OLD_LINE = LINE[: LINE.index(" for request")]


def read(path: Path, part_bytes: int = 1 << 20, zone: str = "UTC") -> list[dict[str, Any]]:
    """All requests and rejected lines of a file, by their line."""
    return [row for row in read_all(path, part_bytes, zone) if row["possible"] is None]


def read_all(path: Path, part_bytes: int = 1 << 20, zone: str = "UTC") -> list[dict[str, Any]]:
    """Those, and what else the lines may mean."""
    [file] = find_files([str(path)])
    rows, first = [], 1
    for part in parts_of(file, part_bytes):
        for batch in read_batches(Told(part, "f", "b", first), Zone(zone)):
            rows += batch.to_pylist()
        first += 0 if file.is_packed else count_lines(part)
    return sorted(rows, key=lambda row: row["line"])


def written(folder: Path, *lines: bytes | str, name: str = "a.log") -> Path:
    path = folder / name
    path.write_bytes(b"".join(each if isinstance(each, bytes) else each.encode() for each in lines))
    return path


def test_the_columns_are_those_of_the_tables() -> None:
    names = [re.split(r" ", column.strip())[0] for column in REQUESTS.schema.split(",")]
    rejected = [re.split(r" ", column.strip())[0] for column in REJECTED.schema.split(",")]
    of_rejected = [name for name in rejected if name not in names]
    assert SCHEMA.names == [*names, *of_rejected, "possible"]


def test_a_line_is_a_row_or_rejected(tmp_path: Path) -> None:
    path = written(
        tmp_path, f"{LINE}\n", "[2026-01-01 00:00:00,000] INFO started\n", f"\n{LINE}\r\n"
    )
    first, other, empty, last = read(path)
    assert first == {
        "time": first["time"],
        "broker": "b",
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
        "file": "f",
        "line": 1,
        "day": first["time"].date(),
        "text": None,
        "reason": None,
        "possible": None,
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
    assert [row["line"] for row in read(written(tmp_path, packed))] == list(range(1, 2_001))
    two = written(tmp_path, packed, b"\0" * 512, packed)
    assert len(read(two)) == 4_000
    half = len(packed) // 2
    changed = packed[:half] + bytes([packed[half] ^ 0x55]) + packed[half + 1 :]
    for damaged in packed[:half], packed[:-4], changed:
        rows = read(written(tmp_path, damaged))
        *good, last = rows
        assert [row["line"] for row in rows] == list(range(1, len(rows) + 1))
        assert last["reason"].startswith("the packed file is damaged, and what follows is lost")
        names = [row["resource_name"] for row in good if row["reason"] is None]
        assert names == [f"topic-{number * 7919 % 10_007}" for number in range(len(names))]


def test_a_file_that_is_gone_when_it_is_read_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, f"{LINE}\n")
    [part] = parts_of(find_files([str(path)])[0])
    path.unlink()
    with pytest.raises(InvalidRequest, match=r"a\.log: cannot be read: No such file"):
        list(read_blocks(part))


def test_a_line_without_end_is_told_by_its_beginning(tmp_path: Path) -> None:
    long = "x" * (3 << 20)
    rows = read(written(tmp_path, f"{LINE}\n{long}\n{LINE}\n{long}"))
    assert [row["line"] for row in rows] == [1, 2, 3, 4]
    assert [row["reason"] is None for row in rows] == [True, False, True, False]
    assert rows[1]["text"] == "x" * 1_000
    assert rows[1]["reason"] == "longer than 1,048,576 bytes; this begins it"


@given(st.lists(st.sampled_from([b"\n", b"a", b"bc\n", b"\r\n", b"dddddddd"])), st.integers(1, 9))
def test_each_line_is_in_one_part(pieces: list[bytes], part_bytes: int) -> None:
    whole = b"".join(pieces)
    with TemporaryDirectory() as folder:
        [file] = find_files([str(written(Path(folder), whole))])
        parts = parts_of(file, part_bytes)
        read_parts = [b"".join(block.lines for block in read_blocks(part)) for part in parts]
        assert b"".join(read_parts) == whole
        counts = [
            len(lines.removesuffix(b"\n").split(b"\n")) if lines else 0 for lines in read_parts
        ]
        assert [count_lines(part) for part in parts] == counts


def test_parts_agree_with_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditfiles, "BLOCK_BYTES", 777)
    path = written(tmp_path, *(f"{LINE}\nnot one\n" for _ in range(50)))
    assert read(path, part_bytes=1_000) == read(path)
    assert Counter(row["reason"] for row in read(path)) == {None: 50, NOT_AUDIT: 50}


def test_files_are_named_by_path_folder_or_glob(tmp_path: Path) -> None:
    for name in "b1/a.log", "b1/a.log.1", "b2/x/a.log", "b2/other":
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)

    def found(*patterns: str) -> list[str]:
        files = find_files([str(tmp_path / pattern) for pattern in patterns])
        return [str(Path(file.path).relative_to(tmp_path)) for file in files]

    assert found("b1/a.log") == ["b1/a.log"]
    assert found("b1") == ["b1/a.log", "b1/a.log.1"]
    assert found("b*/a.log*", "b1") == ["b1/a.log", "b1/a.log.1"]
    assert found("**/a.log") == ["b1/a.log", "b2/x/a.log"]
    assert found("b?") == ["b1/a.log", "b1/a.log.1", "b2/other", "b2/x/a.log"]
    with pytest.raises(InvalidRequest, match="b3: no such file, and none that matches"):
        found("b1", "b3")
    with pytest.raises(InvalidRequest, match=r"\*\*\.gz: no "):
        found("**.gz")
    with pytest.raises(InvalidRequest, match="named by nothing"):
        find_files([""])


@pytest.mark.parametrize("address", ["s3a://logs/a", "hdfs://name/logs/*", "gs://b/x.gz"])
def test_files_of_a_store_are_refused_by_name(address: str) -> None:
    for read in (lambda: find_files([address]), lambda: check_can_be_followed(address)):
        with pytest.raises(InvalidRequest, match="are read from disks only"):
            read()


def test_links_are_followed_once_and_not_in_circles(tmp_path: Path) -> None:
    for name in "elsewhere/a.log", "logs/b1/a.log":
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "logs" / "b0").symlink_to("b1")
    (tmp_path / "logs" / "b2").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "logs" / "b1" / "up").symlink_to("..")
    (tmp_path / "logs" / "gone").symlink_to("nowhere")
    found = [Path(file.path) for file in find_files([str(tmp_path / "logs")])]
    assert [str(each.relative_to(tmp_path / "logs")) for each in found] == ["b1/a.log", "b2/a.log"]


def sort_out(folder: Path, known: dict[str, Head]) -> tuple[Any, Any, Any, dict[str, Head]]:
    found = sorted_out(find_files([str(folder)]), known)
    short = str(folder) + "/"
    taken = {name.removeprefix(short): Path(file.path).name for file, name in found.taken}
    same = {Path(file.path).name: Path(other.path).name for file, other in found.same}
    heads = {name: head for name, head in known.items() if name not in found.gone()}
    heads |= {name: file.head for file, name in found.taken}
    return taken, same, {name.removeprefix(short) for name in found.gone()}, heads


def test_a_file_is_known_by_how_it_begins(tmp_path: Path) -> None:
    """A day of a broker's log that is rotated, packed and copied, build by build."""
    long, other = LINE * 10 + "\n", LINE.replace("app", "other") * 10 + "\n"
    written(tmp_path, f"{LINE}\n")
    written(tmp_path, "", name="empty")
    taken, same, gone, known = sort_out(tmp_path, {})
    assert (taken, same) == ({"a.log": "a.log", "empty": "empty"}, {})

    written(tmp_path, f"{LINE}\n{long}")
    taken, same, gone, known = sort_out(tmp_path, known)
    assert (set(taken), same, gone) == ({"a.log", "empty"}, {}, {"a.log", "empty"})

    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    written(tmp_path, other)
    taken, same, gone, known = sort_out(tmp_path, known)
    assert (set(taken), gone) == ({"a.log", "a.log.1", "empty"}, {"a.log", "a.log.1", "empty"})

    whole = (tmp_path / "a.log.1").read_bytes()
    (tmp_path / "a.log.1").unlink()
    (tmp_path / "a.log").rename(tmp_path / "b.log")
    written(tmp_path, long)
    written(tmp_path, gzip.compress(whole), name="a.log.1.gz")
    written(tmp_path, f"{LINE}\n", name="a.log.0")
    taken, same, gone, known = sort_out(tmp_path, known)
    assert set(taken) == {"a.log", "a.log.1.gz", "b.log", "empty"}
    assert same == {"a.log.0": "a.log.1.gz"}
    assert gone == {"a.log.1", "a.log.1.gz", "a.log", "b.log", "empty"}


def test_files_that_begin_with_the_same_banner_are_two(tmp_path: Path) -> None:
    """As a container's start script prints it, without times, whenever it starts."""
    banner = "".join(f"KAFKA_SETTING_{number}=value\n" for number in range(200))
    written(tmp_path, f"{banner}{LINE}\n", name="a.log")
    written(tmp_path, f"{banner}{LINE.replace('app', 'other')}\n", name="b.log")
    taken, same, _, known = sort_out(tmp_path, {})
    assert (set(taken), same) == ({"a.log", "b.log"}, {})
    (tmp_path / "a.log").unlink()
    assert f"{tmp_path}/a.log" in sort_out(tmp_path, known)[3]


def test_a_file_whose_name_is_no_utf_8_has_one_that_a_table_can_hold(tmp_path: Path) -> None:
    written(tmp_path, f"{LINE}\n", name=os.fsdecode(b"b\xf6.log"))
    [(file, name)] = sorted_out(find_files([str(tmp_path)]), {}).taken
    assert name == f"{tmp_path}/b\\xf6.log"
    [batch] = read_batches(Told(parts_of(file)[0], name, broker_of(name, None), 1), Zone("UTC"))
    assert batch.column("broker").to_pylist() == ["b\\xf6"]


def test_all_names_of_a_file_give_way(tmp_path: Path) -> None:
    """A build that was cut may have left rows by the old name, or by the new one."""
    [file] = find_files([str(written(tmp_path, f"{LINE}\n"))])
    known = {"/a.log.1": file.head, "/a.log": file.head}
    assert sorted_out([file], known).gone() == {"/a.log", "/a.log.1", file.path}


def test_a_packed_file_is_measured_only_beside_one_that_begins_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measuring unpacks all of it."""
    measured: list[str] = []
    length = auditfiles._length

    def noted(file: auditfiles.AuditFile) -> int:
        measured.append(Path(file.path).name)
        return length(file)

    monkeypatch.setattr(auditfiles, "_length", noted)
    for name, text in ("a.gz", f"{LINE}\n{LINE}\n"), ("b.gz", f"{LINE}\n"), ("c.gz", "x\n"):
        written(tmp_path, gzip.compress(text.encode()), name=name)
    assert sort_out(tmp_path, {})[1] == {"b.gz": "a.gz"}
    assert sorted(measured) == ["a.gz", "b.gz"]


def test_records_of_any_size_are_read_without_being_held() -> None:
    """A record may be of as many megabytes as its topic allows, and be anything."""
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


def test_rows_of_a_file_that_is_not_given_again_keep_their_name(tmp_path: Path) -> None:
    written(tmp_path, f"{LINE}\n")
    known = sort_out(tmp_path, {})[3]
    for number in 2, 3:
        written(tmp_path, f"{number} {LINE}\n")
        taken, _, gone, known = sort_out(tmp_path, known)
        assert (taken, gone) == ({f"a.log ({number})": "a.log"}, {f"a.log ({number})"})
    assert len(known) == 3


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
    with pytest.raises(InvalidRequest, match=r"x\.log: 'node\(.\)' finds no broker's name in it"):
        broker_of("/logs/x.log", re.compile("node(.)"))
