"""Torn, joined, forged or cut lines: no used grant is ever called unused. The truth comes from a
linear scan with ``spec``; the log is Kafka's, damaged as by writers, disks and hostile names."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from authorizer.audit.layouts import Zone
from authorizer.audit.readings import MOST_READINGS, readings, unfinished
from metalog.acl import Acl, Operation, ResourceType
from metalog.ids import uuid_text
from metalog_spark.findings.usage.acl_lifetimes import AclLifetimes
from metalog_spark.findings.usage.usage_classes import (
    Conditions,
    Request,
    UsageState,
    tally,
    verdicts,
)
from metalog_spark.ingest.audit_splits import Record, read_records
from metalog_spark.ingest.lines.audit_lines import TORN, read_text
from metalog_spark.ingest.lines.audit_log import NOT_AUDIT_REASONS
from tests.support.spark.audit_rows import rows_of
from tests.support.spark.odd_log import LAYOUTS, OddEvent, damaged, in_members, odd_events
from tests.support.spark.spoilt_log import some_acls, some_events, spoil
from tests.support.worlds import spec
from tests.support.worlds.small_acls import lived

UTC = Zone("UTC")
LINE = (
    "[2026-11-21 18:35:36,123] INFO Principal = User:app is Denied operation = READ from host ="
    " 10.0.0.1 on resource = Topic:LITERAL:payments for request = Fetch with resourceRefCount = 1"
    " based on rule DefaultDeny (kafka.authorizer.logger)"
)
NEXT = LINE.replace("User:app", "User:next").replace("36,123", "40,000")
VERDICT_END = LINE.index("Topic:") + len("Topic:")
HEAD_END = LINE.index("Principal = ") + len("Principal = ")


def said(text: str) -> set[tuple[str, str, str]]:
    """The questions of ``text``'s request and of the possible ones."""
    found = read_text(text, UTC)
    rows = [each.row for each in found.possible]
    if found.request is not None:
        rows.append(found.request[0])
    return {(row.principal, row.pattern_type, row.resource_name) for row in rows}


@pytest.mark.parametrize("cut", range(HEAD_END, VERDICT_END))
def test_a_torn_line_without_a_verdict_is_broken_and_the_next_is_a_line(cut: int) -> None:
    found = read_text(LINE[:cut] + NEXT, UTC)
    assert found.rejected == [(LINE[:cut], TORN)]
    assert found.request is not None
    row, micros = found.request
    assert (row.principal, row.ambiguous) == ("User:next", True)
    assert micros == read_text(NEXT, UTC).request[1]  # type: ignore[index]
    assert not found.possible


@pytest.mark.parametrize("cut", range(VERDICT_END, len(LINE)))
def test_of_a_torn_line_with_a_verdict_both_requests_are_possible(cut: int) -> None:
    names = said(LINE[:cut] + NEXT)
    assert ("User:next", "LITERAL", "payments") in names
    of_first = {(pattern, name) for principal, pattern, name in names if principal == "User:app"}
    ends = {name for pattern, name in of_first if pattern == "PREFIXED"}
    assert any("payments".startswith(name) or name.startswith("payments") for name in ends)


@pytest.mark.parametrize("cut", range(1, 9))
def test_a_second_torn_line_does_not_hide_the_end_of_the_first(cut: int) -> None:
    names = said(LINE[: VERDICT_END + 1] + NEXT[:cut] + NEXT)
    assert ("User:app", "PREFIXED", "") in names


@pytest.mark.parametrize("layers", [1, 2])
def test_half_a_line_of_json_begins_its_name_wherever_it_is_cut(layers: int) -> None:
    """Also within an escape, or between the two escapes of one character."""
    name = 'a \U0001f642"\r\\b'
    text = LINE.replace("payments", name)
    for _ in range(layers):
        text = json.dumps({"log": text})
    for cut in range(text.index("LITERAL"), text.rindex(" for request")):
        begins = {begun for _, pattern, begun in said(text[:cut]) if pattern == "PREFIXED"}
        assert any(name.startswith(begun) for begun in begins), text[:cut]


@pytest.mark.parametrize("cut", range(1, len(LINE)))
def test_a_reason_calls_a_line_no_audit_line_if_the_counts_do(cut: int) -> None:
    """A summary counts ``NOT_AUDIT_REASONS`` as lines that are not audit lines, and all others
    as broken."""
    for _, reason in read_text(LINE[:cut], UTC, is_whole=False).rejected:
        assert reason.startswith("not an audit line") == (reason in NOT_AUDIT_REASONS), reason


def test_torn_json_is_two_lines_too() -> None:
    first, second = (f'{{"message":"{each}"}}' for each in (LINE, NEXT))
    found = read_text(first[:80] + second, UTC)
    assert found.rejected == [(first[:80], TORN)]
    assert found.request is not None
    assert found.request[0].principal == "User:next"


def test_a_name_in_another_encoding_may_be_the_name() -> None:
    raw = LINE.replace("payments", "gr\xf6n").encode("latin-1")
    found = read_text(raw.decode(errors="backslashreplace"), UTC, raw=raw)
    assert "gr\xf6n" in {each.row.resource_name for each in found.possible}


def test_a_record_of_several_lines_may_be_one_whose_name_has_a_line_feed() -> None:
    lines = LINE.replace("payments", "my\ngroup").encode()
    [*batches] = read_records([Record("t/0/7", "b", 1, lines)], UTC)
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert "my\ngroup" in {row["resource_name"] for row in rows if row["possible"]}


@pytest.mark.parametrize("part", ["Principal = ", LINE, LINE[HEAD_END:], LINE[VERDICT_END:]])
def test_no_line_has_many_readings_nor_takes_long(part: str) -> None:
    text = LINE.replace("payments", part * ((1 << 19) // len(part)))
    started = time.process_time()
    assert len([*readings(text)]) <= MOST_READINGS
    assert len([*unfinished(text)]) <= MOST_READINGS
    read_text(text, UTC)
    assert time.process_time() - started < 30


@pytest.mark.parametrize("seed", range(60))
def test_no_used_grant_is_called_unused(tmp_path: Path, seed: int) -> None:
    """Except for lines that show neither client nor question any more; these are counted."""
    random = Random(seed)
    acls = some_acls(random)
    log, told = spoil(random, some_events(random, acls), halves=False)
    path = tmp_path / "a.log"
    path.write_bytes(log)
    rows = rows_of(path, random.choice([200, 1000, 1 << 20]))
    going = can_go(acls, rows)
    used = {event.acl for event in told if event.acl is not None}
    assert used
    assert not going & used


@pytest.mark.parametrize("seed", range(60))
def test_odd_lines_are_counted_once_and_mean_what_kafka_wrote(tmp_path: Path, seed: int) -> None:
    """Each line of the file is a request or rejected. No request without doubt is one that Kafka
    did not decide. Each verdict that is still in the log is of a request or a possible one."""
    random = Random(seed)
    events = odd_events(random, 12, ("3.3", "4.0"))
    log, told_events = damaged(random, events, random.choice(LAYOUTS))
    is_packed = random.random() < 0.3
    path = tmp_path / ("a.log.gz" if is_packed else "a.log")
    path.write_bytes(in_members(random, log) if is_packed else log)
    rows = rows_of(path, random.choice([300, 5_000, 1 << 20]))
    lines = log.count(b"\n") + (not log.endswith(b"\n"))
    counted = {row["line"] for row in rows if not row["possible"]}
    assert counted == set(range(1, lines + 1))
    requests = [row for row in rows if row["reason"] is None]
    decided = {(*event.question, _millis(event.time), event.is_allowed) for event in events}
    for row in requests:
        if row["rule"] and not row["ambiguous"] and not row["possible"]:
            assert (*question(row), row["time"], row["result"] == "ALLOWED") in decided
    for event in told_events:
        assert any(may_be(row, event) for row in requests), event._replace(name=event.name[:99])


def _millis(time: datetime) -> datetime:
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def question(row: dict[str, Any]) -> tuple[str, str, str, str, str]:
    return (
        row["principal"],
        row["host"],
        row["operation"],
        row["resource_type"],
        row["resource_name"],
    )


def may_be(row: dict[str, Any], event: OddEvent) -> bool:
    """Whether a request may be the event. A line without a rule may be half a line, which the
    file's other lines show; a line feed within a name divides the line."""
    *known, name = question(row)
    *wanted, wanted_name = event.question
    if known != wanted:
        return False
    if row["pattern_type"] == "PREFIXED":
        return wanted_name.startswith(name) or name.startswith(wanted_name)
    if row["rule"] is None or "\n" in wanted_name:
        begun = name.removesuffix("\r")
        is_part = wanted_name.startswith(begun) or begun.startswith(wanted_name)
        return is_part or "LITERAL:".startswith(begun)
    return name == wanted_name


def can_go(acls: list[Acl], rows: list[dict[str, Any]]) -> set[Acl]:
    """By the counts of ``unused``, with each request decided by the scan."""
    lifetimes = [lived(number, acl) for number, acl in enumerate(acls, 1)]
    ids = {each.acl: uuid_text(each.id) for each in lifetimes}
    requests = [
        asked(row, acls, ids)
        for row in rows
        if row["reason"] is None and (row["possible"] or row["pattern_type"] == "LITERAL")
    ]
    held = AclLifetimes(lifetimes)
    given = Conditions(0, 1, 0, True, True, True)
    found = verdicts(held, tally(held, requests), given)
    return {each.acl for each in found if each.can_go and each.state is UsageState.UNUSED}


def asked(row: dict[str, Any], acls: list[Acl], ids: dict[Acl, str]) -> Request:
    words = tuple(
        row[name] for name in ("principal", "host", "operation", "resource_type", "resource_name")
    )
    principal, host, operation, kind, name = words
    decision = spec.decide(
        acls, (frozenset({principal}), host), Operation[operation], ResourceType[kind], name, False
    )
    acl_id = None if decision.acl is None else ids[decision.acl]
    return Request(
        words,
        row["result"],
        0,
        decision.result.value,
        acl_id,
        known=True,
        requests=1,
        first_us=0,
        last_us=0,
        possible=bool(row["possible"]),
        begins=row["pattern_type"] == "PREFIXED",
    )
