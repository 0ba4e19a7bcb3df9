"""Opens any log, by its SOURCE, for reading and for writing."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalog import (
    DirectoryLog,
    InvalidSource,
    InvalidTarget,
    Replica,
    Unanswered,
    WritableDirectoryLog,
    WritableTopicLog,
    open_log,
    open_writable_log,
)
from metalog.ports import WritableLog
from tests.support.disk.written_log import formatted
from tests.support.kafka.cases import kafka_case
from tests.support.node.running import running_in
from tests.support.suite.waiting import eventually
from tests.support.wire.peers import opened, serving
from tests.support.worlds.small_acls import allow

ACL = allow("orders", principal="User:app")


def test_files_of_every_kind() -> None:
    case = kafka_case("trimmed-4.3")
    folder = DirectoryLog(case.log_dir).bounds()
    for source in (case.log_dir, str(case.metadata_dir)):
        assert open_log(source).bounds() == folder
    for name in ("00000000000000000811.log", "00000000000000000723-0000000001.checkpoint"):
        assert open_log(case.metadata_dir / name).bounds().start == int(name[:20])
    nodes = [kafka_case(f"quorum-4.3/node-{each}").log_dir for each in (11, 13)]
    assert open_log("+".join(map(str, nodes))).bounds().high_watermark == 265


def test_a_quorum_is_followed_and_let_go_of(tmp_path: Path) -> None:
    """With a node of ours as the quorum; tests/compat follows Kafka's."""
    with running_in(formatted(tmp_path)) as node:
        [created] = node.replica.create_acls(None, [ACL])
        assert not created.result(30)
        log = open_log(f"quorum://{node.addresses['CONTROLLER']}", {"client.id": "us"})
        with Replica(log) as replica:
            assert ACL in replica.wait_until_loaded(30).acls.by_id.values()
            assert log._controller._connection is not None  # type: ignore[attr-defined]
        assert log._controller._connection is None  # type: ignore[attr-defined]


def test_a_topic_whose_cluster_does_not_answer() -> None:
    with pytest.raises(Unanswered, match=r"topic://127\.0\.0\.1:1/acls: .*refused"):
        open_log("topic://127.0.0.1:1/acls", {"client.id": "us"})


def test_a_writer_whose_cluster_does_not_answer_gets_the_advice_of_a_reader() -> None:
    topic = "topic://127.0.0.1:1/acls"
    with pytest.raises(Unanswered) as reading:
        open_log(topic)
    with pytest.raises(Unanswered) as writing:
        Replica(open_writable_log(topic)).start()
    assert str(writing.value) == str(reading.value)
    with Replica(open_writable_log(topic), is_patient=True) as replica:
        expected = str(reading.value)
        assert eventually(lambda: str(getattr(replica.state, "fault", "")) == expected)


def test_a_topic_at_a_listener_that_wants_a_login() -> None:
    """The listener reports its supported API versions to anybody, and closes at the first
    request."""
    with serving(opened) as address, pytest.raises(Unanswered) as raised:
        open_log(f"topic://{address}/acls")
    assert str(raised.value).startswith(
        f"topic://{address}/acls: {address}: it closed the connection at our"
    )
    assert "it may want a login by SASL: set security.protocol" in str(raised.value)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("cluster://localhost:9092", "cluster:// is not a log's address; give a "),
        ("quorum://localhost", "give quorum://HOST:PORT"),
        ("quorum://localhost:1", "kafka_settings: ssl.cipher.suites is not supported"),
        ("topic://localhost:1/t", "kafka_settings: ssl.cipher.suites is not supported"),
        ("topic://localhost:1/t?at=1", "only snapshots=DIR is supported"),
        ("missing", "there is no such file or folder; check the path"),
        ("@prod", "there is no such file or folder; give the url of this name of metalog.toml"),
        ("a+", "a folder is missing beside a +"),
        ("", "SOURCE is missing"),
        (__file__, "unknown kind of file"),
    ],
)
def test_what_cannot_be_opened_is_refused_in_a_line(source: str, problem: str) -> None:
    settings = {"ssl.cipher.suites": "x"} if source.endswith((":1", ":1/t")) else {}
    with pytest.raises(InvalidSource) as caught:
        open_log(source, settings)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_is_written(tmp_path: Path) -> None:
    log = open_writable_log(formatted(tmp_path))
    assert isinstance(log, WritableDirectoryLog)
    with Replica(log) as replica:
        [created] = replica.create_acls(None, [ACL])
        assert not created.result(30)
    with Replica(open_log(tmp_path)) as replica:
        assert ACL in replica.wait_until_loaded(30).acls.by_id.values()


def test_a_topic_is_written_by_the_node_that_is_given() -> None:
    log = open_writable_log("topic://localhost:1/acls", {"client.id": "us"}, node_id=7)
    assert isinstance(log, WritableTopicLog)
    assert isinstance(log, WritableLog)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("quorum://localhost:1", "only its controllers write it"),
        ("cluster://localhost:1", "not a log that can be written"),
        (__file__, "not a log that can be written"),
    ],
)
def test_a_log_that_is_not_written_here_is_refused(source: str, problem: str) -> None:
    with pytest.raises(InvalidTarget, match=problem):
        open_writable_log(source)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("missing", "missing: there is no such folder; check the path, or create it"),
        ("", "SOURCE is missing; give the metadata.log.dir"),
    ],
)
def test_a_missing_log_is_named_as_missing(
    source: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(formatted(tmp_path))
    with pytest.raises(InvalidSource, match=problem):
        open_writable_log(source)
