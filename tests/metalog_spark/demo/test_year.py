"""Kafka could have written the year of ``metalog pipeline demo``, and its claims are true: checked
without Spark, by another way of deciding."""

from __future__ import annotations

import gzip
import re
from bisect import bisect_right
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from authorizer.audit.line import AuditLine, parse_line
from authorizer.config import from_properties
from authorizer.history.decision_timeline import DecisionTimelines
from authorizer.history.timeline import Edge, Timeline, TimelineChange, lifetimes
from authorizer.trace import Question
from metalog.config.properties import parse_properties, properties_mapping
from metalog.errors import InvalidRequest
from metalog.records.acl_codes import acl_of
from metalog.records.messages import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from metalog_spark.demo.brokers import LOGGING_GAPS, NOTHING, Disagreement, broker_name
from metalog_spark.demo.calendar import END, START, YEAR, days_from, moment, stamp
from metalog_spark.demo.company import all_services
from metalog_spark.demo.make import CHANGES, SEED, Made, make
from tests.support.disk.written_log import batches_in, files_in
from tests.support.kafka.tools import KafkaTools

REQUESTS = 6_000
STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] (\w+) ")


class Line(NamedTuple):
    broker: str
    time_ms: int
    level: str
    said: AuditLine

    @property
    def place(self) -> Disagreement:
        said = self.said
        return Disagreement(
            stamp(self.time_ms),
            self.broker,
            said.principal,
            said.host,
            said.operation.name,
            said.resource_name,
        )


def made_in(folder: Path, days: range = YEAR) -> Made:
    folder.mkdir()
    return make(folder, requests=REQUESTS, seed=SEED, days=days, report=lambda *_: None)


@pytest.fixture(name="made", scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made_in(tmp_path_factory.mktemp("year") / "demo")


@pytest.fixture(scope="module")
def texts(made: Made) -> list[tuple[str, str]]:
    return texts_of(made)


def texts_of(made: Made) -> list[tuple[str, str]]:
    return [
        (path.parent.name, text)
        for path in sorted(made.audit.rglob("*.gz"))
        for text in gzip.decompress(path.read_bytes()).decode().removesuffix("\n").split("\n")
    ]


@pytest.fixture(scope="module")
def lines(texts: list[tuple[str, str]]) -> list[Line]:
    found = []
    for broker, text in texts:
        try:
            said = parse_line(text)
        except InvalidRequest:
            continue
        at = STAMP.match(text)
        assert at is not None
        found.append(Line(broker, moment(at[1]) + int(at[2]), at[3], said))
    return found


def test_a_line_is_of_a_request_or_rejected(
    made: Made, texts: list[tuple[str, str]], lines: list[Line]
) -> None:
    tally = made.tally
    results = Counter(line.said.result.name for line in lines)
    forged = 1
    assert tally.requests == REQUESTS
    assert results == {"ALLOWED": tally.allowed, "DENIED": tally.denied}
    assert tally.allowed + tally.denied == tally.requests - tally.unlogged + forged
    assert len(texts) == len(lines) + tally.rejected
    assert tally.rejected
    assert sum(line.said.ambiguous for line in lines) == tally.ambiguous


def test_the_brokers_answers_are_those_of_the_log_but_where_it_was_planned(
    made: Made, lines: list[Line]
) -> None:
    timelines = DecisionTimelines(Timeline(Edge(0, START), lifetimes({}, changes_in(made.log))))
    configs = [
        (moment(begin), from_properties(properties_mapping(parse_properties(data)))[0])
        for begin, data in ((begin, path.read_bytes()) for begin, path in made.configs.items())
    ]
    otherwise = []
    for line in lines:
        said = line.said
        asked = (said.principal, said.operation, said.resource_type, said.resource_name, said.host)
        *_, config = [config for begin, config in configs if begin <= line.time_ms]
        version = bisect_right(timelines.timeline.times, line.time_ms) - 1
        decided = timelines.decision(Question(*asked), version, config)
        if decided.result is not said.result:
            otherwise.append(line.place)
        elif line.broker != broker_name(2):
            assert said.acl == decided.acl
    assert sorted(otherwise) == sorted(made.tally.disagreements)
    assert len(otherwise) > 1


def changes_in(log: Path) -> list[TimelineChange]:
    found = []
    for batch in batches_in(log):
        for entry in batch.entries():
            message = entry.message
            if isinstance(message, AccessControlEntryRecord):
                acl = acl_of(message)
                found.append(TimelineChange(entry.offset, message.id, acl, entry.timestamp))
            elif isinstance(message, RemoveAccessControlEntryRecord):
                found.append(TimelineChange(entry.offset, message.id, None, entry.timestamp))
    return found


def test_the_log_has_a_year_of_changes_with_their_own_times(made: Made) -> None:
    batches = batches_in(made.log)
    times = [batch.max_timestamp for batch in batches]
    assert len(changes_in(made.log)) == CHANGES
    assert times == sorted(times)
    assert START <= times[0] < times[-1] < END
    assert len({datetime.fromtimestamp(each / 1000, UTC).month for each in times}) == 12


def test_kafkas_own_tools_read_the_log(kafka_tools: KafkaTools, made: Made) -> None:
    segments = sorted((made.log / "__cluster_metadata-0").glob("*.log"))
    assert len(segments) > 12
    dumped = kafka_tools.dump_log(Path(",".join(map(str, segments))))
    types = Counter(re.findall(r'payload: \{"type":"(\w+)"', dumped))
    ours = Counter(
        message.TYPE_NAME
        for batch in batches_in(made.log)
        if not batch.is_control
        for message in batch.messages()
    )
    assert types == ours
    assert "isvalid: false" not in dumped


def test_a_broker_logs_nothing_that_it_could_not(lines: list[Line]) -> None:
    assert {line.level for line in lines if line.said.result} == {"DEBUG"}
    for gap in LOGGING_GAPS:
        within = [
            line
            for line in lines
            if gap.begin <= line.time_ms < gap.end
            and gap.broker in (None, int(line.broker[-1]) - 1)
        ]
        assert not any(line.said.result for line in within)
        assert gap.state is not NOTHING or not within


def test_few_ask_for_most_and_by_day(lines: list[Line]) -> None:
    asked = Counter(line.said[:6] for line in lines if line.said.result)
    most = sum(count for _, count in asked.most_common(len(asked) // 10))
    assert most > len(lines) / 2
    by_hour = Counter(line.time_ms // 3_600_000 % 24 for line in lines)
    assert by_hour[13] > 2 * by_hour[3]


def test_a_seed_makes_the_same_year_again_and_another_makes_another(
    made: Made, tmp_path: Path
) -> None:
    again = made_in(tmp_path / "again")
    assert files_in(again.log.parent) == files_in(made.log.parent)
    assert all_services(Random(SEED)) != all_services(Random(SEED + 1))


def test_some_days_are_of_the_same_year(made: Made, tmp_path: Path) -> None:
    part = made_in(tmp_path / "part", days_from("2025-05-16", 3))
    assert files_in(part.log) == files_in(made.log)
    assert part.tally.requests == REQUESTS
    texts = texts_of(part)
    days = {found[1][:10] for _, text in texts if (found := STAMP.match(text))}
    assert days == {"2025-05-16", "2025-05-17", "2025-05-18"}
    beats = [broker for broker, text in texts if " for request = BrokerHeartbeat " in text]
    assert beats == [broker_name(0)] * 3 * 24


def test_what_a_year_has_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="--requests 10"):
        make(tmp_path, requests=10, report=lambda *_: None)
    assert days_from("2025-12-31", 1) == range(364, 365)
    for count in (0, 2):
        with pytest.raises(InvalidRequest, match=f"--days {count}: write 1 to 1; the year ends"):
            days_from("2025-12-31", count)
