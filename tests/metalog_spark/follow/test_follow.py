"""``metalog pipeline follow``: each line counts once, decided as of its time, whatever happens."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from authorizer.config import AuthorizerConfig
from metalog.acl import Operation, ResourceType
from metalog.errors import InvalidMoment, InvalidRequest, InvalidTarget
from metalog_spark.findings.windows.window import window_of
from metalog_spark.follow.batch import FOLLOW, Progress, progress_of
from metalog_spark.follow.log import FollowedLog, known_until_ms
from metalog_spark.follow.query import follow_tables
from metalog_spark.follow.tables import store_configuration
from metalog_spark.history.configuration import (
    DEFAULT_PERIOD,
    ConfigPeriod,
    Configuration,
    read_configuration,
)
from metalog_spark.store.refusals import FOLLOWED
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import (
    ALERTS,
    CONFIGURATION,
    COVERAGE,
    DECISIONS,
    REJECTED,
    REQUESTS,
    USAGE,
    WAITING,
    TableSchema,
)
from shell.arguments.pipeline import CLUSTER_VARIABLES
from tests.support.command.help_examples import as_printed
from tests.support.command.runs import run_here
from tests.support.kafka.followed_topic import AuditTopic
from tests.support.kafka.tools import KafkaTools, RealKafka
from tests.support.node.received_posts import Received
from tests.support.spark.followed_world import READ_T, WrittenLog, appears, line, time_ms
from tests.support.spark.killed_pipeline import run_killed
from tests.support.spark.plain_parquet import rows_in
from tests.support.suite.waiting import eventually

STORM = 20
ADMIN = READ_T._replace(
    resource_type=ResourceType.CLUSTER,
    resource_name="kafka-cluster",
    principal="User:intern",
    operation=Operation.ALTER,
)

AS_OF_A_KRAFT_NODE = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
early.start.listeners=CONTROLLER
stale.deny.after.ms=60000
log.dirs=/var/lib/kafka
offsets.topic.replication.factor=1
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=
"""
"""The keys of Kafka's own example for a combined node, and some more; none decides a request."""
STARTS = 20


class Followed:
    """A world, and the folder that it is followed into."""

    def __init__(self, folder: Path) -> None:
        self.log = WrittenLog(folder / "log")
        self.audit: Path | str = folder / "audit"
        self.out = folder / "out"
        self.config = folder / "server.properties"
        self.config.write_text(AS_OF_A_KRAFT_NODE)

    @property
    def words(self) -> list[str]:
        places: dict[str, str | Path] = {"quorum://c1:9093": self.log.folder, "/data/now": self.out}
        if isinstance(self.audit, Path):
            places |= {"/logs/rotated": self.audit, "server.properties": self.config}
            example = as_printed(
                "metalog pipeline follow --log quorum://c1:9093 --audit /logs/rotated --out"
                " /data/now --config server.properties",
                places,
            )
        else:
            example = as_printed(
                "metalog pipeline follow --log quorum://c1:9093 --audit topic://b1:9092/audit --out"
                " /data/now",
                {**places, "topic://b1:9092/audit": self.audit},
            )
        return [*example[2:], "--once", "--at-once", "2", "--storm", str(STORM)]


class Found:
    """The folder's present contents."""

    def __init__(self, spark: SparkSession, followed: Followed) -> None:
        self._tables = Tables.open(spark, followed.out)

    def rows(self, table: TableSchema, *columns: str) -> list[tuple[object, ...]]:
        found = self._tables.read(table).selectExpr(*columns).collect()
        return sorted(map(tuple, found), key=repr)

    def lines(self) -> dict[str, list[tuple[str, int]]]:
        """By table: the file and number of each of its lines."""
        read = [
            self._tables.read(table).selectExpr(f"'{table.name}'", "file", "line")
            for table in (REQUESTS, WAITING, REJECTED, DECISIONS)
        ]
        lines = defaultdict(list)
        for table, file, number in reduce(DataFrame.unionAll, read).collect():
            lines[table].append((file.rpartition("/")[2], number))
        return {table: sorted(found) for table, found in lines.items()}

    def plain_lines(self) -> dict[str, list[tuple[str, int]]]:
        """The same, found by an engine that is not ours."""
        view = Path(self._tables.path, "current")
        lines = {
            table.name: sorted(
                (str(file).rpartition("/")[2], number)
                for file, number in rows_in(view, table, "file, line")
            )
            for table in (REQUESTS, WAITING, REJECTED, DECISIONS)
        }
        return {table: found for table, found in lines.items() if found}


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    world = Followed(tmp_path)
    world.log.bind(1, 1, READ_T)
    world.log.unbind(20, 1)
    world.log.bind(40, 2, ADMIN)
    world.log.goes_on(100)
    folder = tmp_path / "audit"
    appears(folder, "b1.log.0", [line(10, "User:app", allowed=True)])
    last = [line(55, "User:bad", allowed=False), line(30, "User:app", allowed=True)]
    appears(folder, "b1.a %20#?[2]", [*last, line(80, "User:app", allowed=False)])
    storm = [line(50, "User:bad", allowed=False) for _ in range(STORM - 1)]
    appears(folder, "b1.log.1", [*storm, "no audit line\n"])
    return world


EVERY_LINE = [
    ("b1.log.0", 1),
    *(("b1.log.1", number) for number in range(1, STORM + 1)),
    *(("b1.a %20#?[2]", number) for number in range(1, 4)),
]


def follow(
    capsys: pytest.CaptureFixture[str], followed: Followed, *more: str
) -> subprocess.CompletedProcess[str]:
    done = run_here(capsys, "pipeline", "follow", *followed.words, *more)
    assert done.returncode == 0, done.stderr
    return done


def check_each_line_counts_once(found: Found, beside: str = "") -> None:
    """Except for lines of the file ``beside``."""
    lines = {
        table: [each for each in of if each[0] != beside] for table, of in found.lines().items()
    }
    assert found.plain_lines() == found.lines()
    decided = lines.pop("decisions")
    assert sorted(chain(*lines.values())) == sorted(EVERY_LINE)
    assert decided == lines["requests"]
    assert lines["rejected"] == [("b1.log.1", STORM)]
    of_principals = [row for row in found.rows(ALERTS, "kind", "principal") if row[1] is not None]
    assert of_principals == [("denied-storm", "User:bad"), ("super-user-like", "User:intern")]


def test_killed_at_a_commit_no_line_is_lost_and_each_is_decided_as_of_its_time(
    spark: SparkSession,
    followed: Followed,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On this machine's disk, as at the end, lines that Spark does not see are reported."""
    for moment, committed in (("before", -1), ("after", 0)):
        run_killed(spark, moment, 0, "follow", *followed.words)
        assert eventually(lambda: not spark.streams.active)
        assert progress_of(Tables.open(spark, followed.out)).batch == committed

    with closing(Received()) as received:
        done = follow(capsys, followed, "--webhook", received.url)
    posted = {body["id"]: body["kind"] for *_, body in received.posts}
    assert sorted(posted.values()) == ["denied-storm", "super-user-like"]
    assert "super-user-like" in done.stdout
    assert "denied-storm: User:bad: was denied 20 times within 5 minutes" in done.stdout
    assert "1 request waits: the log is known up to 2026-01-01T00:01:40" in done.stderr
    said = "19 requests decided, 1 line rejected, 2 alerts; 1 request waiting now"
    assert done.stderr.splitlines()[-1] == f"note: in this run {said}"
    found = Found(spark, followed)
    check_each_line_counts_once(found)
    assert found.lines()["waiting"] == [("b1.a %20#?[2]", 3)]
    disagree = found.rows(DECISIONS, "principal", "decided", "disagrees")
    assert Counter(disagree) == {
        ("User:app", "ALLOWED", False): 1,
        ("User:app", "DENIED", True): 1,
        ("User:bad", "DENIED", False): STORM,
    }
    assert found.rows(COVERAGE, "allowed", "denied") == [(2, STORM)]
    assert sum(row[0] for row in found.rows(USAGE, "requests")) == STORM + 2
    check_nothing_is_said_of_what_waits(Tables.open(spark, followed.out), capsys)
    check_decisions_stay_true(followed, Tables.open(spark, followed.out), capsys)
    check_a_node_s_configuration_is_taken_again(followed, Tables.open(spark, followed.out))

    followed.log.goes_on(111)
    unseen = tmp_path / "audit" / os.fsdecode(b"b\xf6se.log")
    unseen.write_text(line(10, "User:app", allowed=True))
    cut = tmp_path / "audit" / "b2.log.gz"
    cut.write_bytes(gzip.compress(line(10, "User:app", allowed=True).encode())[:-1])
    for name in CLUSTER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    done = follow(capsys, followed)
    [alert] = done.stdout.splitlines()
    assert f"lines-lost: {cut}: the packed file is damaged, and the rest is lost" in alert
    said = "2 requests decided, 1 line rejected, 1 alert; 0 requests waiting now"
    assert done.stderr.splitlines()[-1] == f"note: in this run {said}"
    assert r"audit/b\xf6se.log: not read, because Spark ignores names" in done.stderr
    found = Found(spark, followed)
    assert "waiting" not in found.lines()
    assert (cut.name, 1) in found.lines()["requests"]
    check_each_line_counts_once(found, beside=cut.name)
    check_the_log_of_another_cluster_is_refused(followed, capsys)


def check_nothing_is_said_of_what_waits(tables: Tables, capsys: pytest.CaptureFixture[str]) -> None:
    window = window_of(tables)
    assert window.end_us == time_ms(80) * 1000
    said = "1 request waits: the log is known up to 2026-01-01T00:01:40.000Z, and later ACLs"
    with pytest.raises(InvalidMoment, match=f"is decided yet; {said} are unknown$"):
        window_of(tables, "2026-01-01T00:01:20")
    done = run_here(capsys, "pipeline", "unused", tables.path)
    assert f"warning: {said} are unknown; the request can be a use" in done.stderr


def check_a_node_s_configuration_is_taken_again(followed: Followed, tables: Tables) -> None:
    """At any start, also after edits of the node's file that decide nothing."""
    for start in range(STARTS):
        followed.config.write_text(f"{AS_OF_A_KRAFT_NODE}log.retention.hours={168 + start}\n")
        store_configuration(tables, read_configuration([str(followed.config)])[0])


def check_the_log_of_another_cluster_is_refused(
    followed: Followed, capsys: pytest.CaptureFixture[str]
) -> None:
    properties = followed.log.folder / "meta.properties"
    properties.write_text(properties.read_text().replace("cluster.id=c", "cluster.id=d"))
    done = run_here(capsys, "pipeline", "follow", *followed.words)
    assert done.returncode == 2
    assert re.search(r"follows --log .* \(cluster c\) .*, not --log .* \(cluster d\)", done.stderr)


def check_decisions_stay_true(
    followed: Followed, tables: Tables, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last decision is of second 55."""
    other = followed.out.parent / "other.properties"
    other.write_text("super.users=User:bad\n")
    words = [str(other) if word == str(followed.config) else word for word in followed.words]
    done = run_here(capsys, "pipeline", "follow", *words)
    assert done.returncode == 2
    assert "requests up to 2026-01-01T00:00:55.000Z were decided with another" in done.stderr
    period = ConfigPeriod(time_ms(55) * 1000, AuthorizerConfig(frozenset({"User:bad"})), str(other))
    with pytest.raises(InvalidTarget, match="or follow into another folder"):
        store_configuration(tables, Configuration([DEFAULT_PERIOD, period]))
    later = Configuration([DEFAULT_PERIOD, period._replace(from_us=time_ms(300) * 1000)])
    store_configuration(tables, later)
    assert Configuration.of(tables.read(CONFIGURATION)).periods == later.periods
    store_configuration(tables, Configuration())


def test_a_folder_follows_one_thing_and_not_without_its_checkpoint(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under any name of the folder, and from a checkpoint of an earlier version."""
    out = tmp_path / "out"
    monkeypatch.chdir(tmp_path)
    tables = follow_tables(spark, str(out), "log", "audit")
    tables.store_facts(**{FOLLOWED: {"log": "log", "audit": "audit"}})
    tables = follow_tables(spark, str(out), "log", "audit")
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(tmp_path.parent)
        follow_tables(spark, str(out), f"{tmp_path.name}/log", f"{tmp_path}/audit/")
        with pytest.raises(
            InvalidTarget, match=f"follows --log {tmp_path}/log --audit {tmp_path}/"
        ):
            follow_tables(spark, str(out), "log", "audit")
    with pytest.raises(InvalidTarget, match="name another folder for other input"):
        follow_tables(spark, str(out), "log", "elsewhere")
    with pytest.raises(InvalidRequest, match="no request is decided yet; metalog pipeline follow"):
        window_of(tables)
    nothing = spark.createDataFrame([], REQUESTS.schema)
    done = Progress(batch=0)._asdict()
    tables.commit("batch-0", added={REQUESTS: nothing}, replaced={}, **{FOLLOW: done})
    with pytest.raises(InvalidTarget, match="checkpoint is gone"):
        follow_tables(spark, str(out), "log", "audit")
    for replaced, days in ((Tables.replace, ()), (Tables.replace_days, ([],))):
        with pytest.raises(InvalidTarget, match="build into another folder"):
            replaced(Tables.open(spark, out), REQUESTS, nothing, *days)

    with pytest.raises(InvalidTarget, match="logs; name another folder"):
        follow_tables(spark, str(tmp_path / "logs" / "out"), "log", str(tmp_path / "logs"))

    built = Tables.make(spark, tmp_path / "built")
    built.replace(DECISIONS, spark.createDataFrame([], DECISIONS.schema))
    with pytest.raises(InvalidTarget, match="written by metalog pipeline build"):
        follow_tables(spark, built.path, "log", "audit")


@pytest.fixture
def kafka(kafka_tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    """Unlike ``real_kafka``, it ends with its test: the group of Spark's tests goes on for
    minutes."""
    with RealKafka.started(kafka_tools, tmp_path_factory.mktemp("followed-kafka")) as started:
        yield started


def test_a_topic_is_followed_as_a_folder_is(
    spark: SparkSession,
    kafka: RealKafka,
    followed: Followed,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It ends between a commit and its alerts; then the topic deletes records, so the allowed
    requests of their hour are unknown."""
    began = now()
    sent = AuditTopic(kafka.bootstrap)
    followed.audit = sent.address
    sent.send(line(10, "User:app", allowed=True))
    for _ in range(3):
        sent.send(line(50, "User:bad", allowed=False))
    few = ("--at-once", "4", "--storm", "3", "--json")
    with monkeypatch.context() as patch:
        patch.setattr(Tables, "_note", ends_after(Tables._note, batch=0))
        done = run_here(capsys, "pipeline", "follow", *followed.words, *few)
        assert (done.returncode, done.stdout) == (2, "")
        assert "metalog: ended" in done.stderr
    assert Found(spark, followed).rows(ALERTS, "count(*)") == [(2,)]

    for _ in range(3):
        sent.send(line(60, "User:app", allowed=False), key=None)
    sent.forget(6)
    done = follow(capsys, followed, *few)
    alerts = [json.loads(each) for each in done.stdout.splitlines()]
    assert [each["kind"] for each in alerts] == [
        "denied-storm", "super-user-like", "lines-lost", "no-broker",
    ]  # fmt: skip
    assert all(began <= each["time"] <= now() for each in alerts[2:])
    assert f"{sent.address}/0: deleted unread: offsets 4 to 5; the" in done.stdout
    found = Found(spark, followed)
    lines = found.lines()
    assert lines["decisions"] == [("0", number) for number in (0, 1, 2, 3, 6)]
    assert lines["rejected"] == [("0", 4)]
    brokers = found.rows(COVERAGE, "broker", "allowed", "denied", "state")
    only = "DENIALS_ONLY"
    assert brokers == [(sent.name, 0, 1, only), ("b1", 1, 3, only)]
    assert follow(capsys, followed, *few).stdout == ""


def now() -> str:
    """The time in an alert's form."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ends_after(note: Any, batch: int) -> Any:
    """The ends of a process that is killed when a batch's line is written, as the folder shows
    them."""

    def noted(tables: Tables, change: Mapping[str, Any]) -> None:
        note(tables, change)
        if change.get("facts", {}).get(FOLLOW, {}).get("batch") == batch:
            raise InvalidTarget("ended")

    return noted


def test_nothing_is_decided_by_what_may_not_be_committed(tmp_path: Path) -> None:
    """One of three voters has a tail that the other two may lack."""
    log = WrittenLog(tmp_path / "log")
    log.bind(1, 1, READ_T)
    log.goes_on(100)
    alone = FollowedLog(str(log.folder))
    assert known_until_ms(alone.look()) == time_ms(100)
    assert alone.unproven() == []
    state = log.folder / "__cluster_metadata-0" / "quorum-state"
    others = '"currentVoters":[{"voterId":1},{"voterId":2},{"voterId":3}]'
    state.write_text(re.sub(r'"currentVoters":\[.*?\]', others, state.read_text()))
    one_of_three = FollowedLog(str(log.folder))
    assert known_until_ms(one_of_three.look()) is None
    [said] = one_of_three.unproven()
    assert (said.offset, said.end) == (0, 4)
    unproven = FollowedLog(str(log.folder), committed=False)
    assert known_until_ms(unproven.look()) == time_ms(100)
    assert unproven.unproven() == []
