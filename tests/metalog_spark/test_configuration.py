"""The configuration in force at each time, from files with a moment each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from metalog.errors import InvalidRequest
from metalog_spark.history.configuration import ConfigPeriod, Configuration, read_configuration
from metalog_spark.store.tables import CONFIGURATION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARCH = 1_740_787_200_000_000


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two configurations of a cluster, in the current folder."""
    (tmp_path / "old.properties").write_text("super.users=User:a;User:b\n")
    (tmp_path / "new=1.properties").write_text("allow.everyone.if.no.acl.found=true\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_file_holds_from_its_moment_on(files: Path) -> None:
    texts = ["2025-03-01T00:00=new=1.properties", "@5=old.properties", "new=1.properties"]
    configuration, odd = read_configuration(texts)
    old, new = (
        AuthorizerConfig(frozenset(["User:a", "User:b"])),
        AuthorizerConfig(frozenset(), True),
    )
    assert configuration.periods == (
        ConfigPeriod(None, new, "new=1.properties"),
        ConfigPeriod(5_000, old, "old.properties"),
        ConfigPeriod(MARCH, new, "new=1.properties"),
    )
    times = [-1, 4_999, 5_000, MARCH - 1, MARCH]
    assert [configuration.at(time) for time in times] == [new, new, old, old, new]
    assert odd == []


def test_keys_that_decide_no_request_make_no_other_configuration(files: Path) -> None:
    """KIP-801: early.start.listeners, by default controller.listener.names, only says when a
    listener opens."""
    (files / "node.properties").write_text(
        "super.users=User:a;User:b\ncontroller.listener.names=CONTROLLER\n"
        "early.start.listeners=CONTROLLER\nstale.deny.after.ms=60000\n"
    )
    of_node, _ = read_configuration(["node.properties"])
    of_old, _ = read_configuration(["old.properties"])
    assert of_node.at(0) == of_old.at(0)


def test_the_kafka_that_decides_is_each_files_own_or_the_logs(files: Path) -> None:
    (files / "upgraded.properties").write_text("super.users=User:a;User:b\nkafka.version=4.4\n")
    configuration, _ = read_configuration(["old.properties", "@5=upgraded.properties"])
    versions = [period.config.kafka_version for period in configuration.periods]
    assert versions == [None, KafkaVersion.V4_4]
    for default in KafkaVersion:
        periods = configuration.with_default(default).periods
        assert [period.config.kafka for period in periods] == [default, KafkaVersion.V4_4]
        columns = configuration.with_default(default).table()["kafka_version"].to_pylist()
        assert columns == [default.value, "4.4"]


def test_what_no_file_says_is_assumed_and_said(files: Path) -> None:
    assumed = "assumed super.users= and allow.everyone.if.no.acl.found=false"
    configuration, [odd] = read_configuration([])
    assert configuration.periods == (ConfigPeriod(None, AuthorizerConfig(), "assumed"),)
    assert odd == f"without --config server.properties, {assumed}"
    configuration, [odd] = read_configuration(["@0=old.properties"])
    assert [period.source for period in configuration.periods] == ["assumed", "old.properties"]
    assert odd.endswith(f"{assumed} before 1970-01-01T00:00:00.000Z")


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["gone.properties"], "gone.properties: cannot be read (No such file or directory)"),
        (["@1=gone.properties"], "gone.properties: cannot be read (No such file or directory)"),
        (["."], ".: a folder, not a .properties file"),
        (
            ["soon=old.properties"],
            "--config soon=old.properties: 'soon' is not a time; give @MILLI",
        ),
        (["50=old.properties"], "--config 50=old.properties: 50 is an offset or a relative"),
        (["-6h=old.properties"], "--config -6h=old.properties: -6h is an offset or a relative"),
        (["old.properties"] * 2, "--config old.properties: old.properties is in force from"),
        (["@1=old.properties"] * 2, "--config @1=old.properties: old.properties is in force from"),
        (
            ["bad.properties"],
            "bad.properties, line 1: super.users: 'admin' has no type; write it as User",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(files: Path, texts: list[str], problem: str) -> None:
    (files / "bad.properties").write_text("super.users=admin")
    with pytest.raises(InvalidRequest) as refused:
        read_configuration(texts)
    assert str(refused.value).startswith(problem)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_no_brokers_is_pointed_out(files: Path) -> None:
    (files / "other.properties").write_text("bootstrap.servers=a:1")
    _, [odd] = read_configuration(["other.properties"])
    assert odd.startswith("other.properties sets neither super.users nor allow.everyone")


def test_a_node_without_an_authorizer_is_pointed_out(files: Path) -> None:
    (files / "node.properties").write_text("node.id=1\nsuper.users=User:root")
    _, [odd] = read_configuration(["node.properties"])
    assert "Kafka without an authorizer allows everything" in odd


@pytest.mark.parametrize("name", ["com.example.Mine", "kafka.security.auth.SimpleAclAuthorizer"])
def test_an_authorizer_that_may_decide_differently_is_pointed_out(files: Path, name: str) -> None:
    text = f"authorizer.class.name={name}\nsuper.users=User:root"
    (files / "node.properties").write_text(text)
    _, [odd] = read_configuration(["node.properties"])
    assert odd.startswith(f"node.properties: authorizer.class.name={name} can decide differently")


def test_the_table_says_the_same(files: Path, spark: SparkSession) -> None:
    configuration, _ = read_configuration(["old.properties", "@1500=new=1.properties"])
    rows = configuration.rows(spark)
    assert rows.columns == list(CONFIGURATION.columns)
    assert Configuration.of(rows).periods == configuration.periods
    times = "unix_millis(from_time)", "unix_millis(to_time)", "super_users", "source"
    assert [tuple(row) for row in rows.selectExpr(*times).collect()] == [
        (None, 1500, ["User:a", "User:b"], "old.properties"),
        (1500, None, [], "new=1.properties"),
    ]
    assert Configuration.of(rows.where("false")).periods == Configuration().periods
