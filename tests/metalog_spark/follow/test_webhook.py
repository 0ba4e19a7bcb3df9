"""Alerts over HTTP: each at least once, in order, with an id; and metrics for Prometheus."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

from metalog.errors import InvalidRequest
from metalog_spark.follow import webhook
from metalog_spark.follow.batch import FOLLOW
from metalog_spark.follow.webhook import Counts, Webhook, endpoint
from metalog_spark.store.table_store import Tables
from shell.tasks.follow.alerts import SHOWN, Alerts, last_posted
from shell.tasks.follow.figures import metrics_address, served
from tests.support.kafka.tools import free_ports
from tests.support.node.received_posts import TOKEN, Received
from tests.support.node.scraping import got, scraped

ALERTS = [{"id": f"{number:032x}", "message": f"größer {number}"} for number in range(3)]


def test_alerts_that_no_run_could_post_are_left_to_the_next_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = Tables.make(spark, tmp_path / "tables")
    tables.mark(SHOWN, 2)
    assert last_posted(tables) == 2, "no run had a webhook: its first gets what is new"
    refusing = endpoint("http://127.0.0.1:9/", "")
    for shown in (5, 9):
        with closing(Webhook(refusing, last_posted(tables))) as refused:
            Alerts(tables, refused, list, pytest.fail)
        tables.mark(SHOWN, shown)
        assert last_posted(tables) == 2


@contextmanager
def posting(url: str, headers: str = "") -> Iterator[Webhook]:
    with closing(Webhook(endpoint(url, headers), -1)) as posted:
        yield posted


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "_FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(webhook, "_LONGEST_WAIT_S", 0.01)


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_each_alert_is_posted_in_order_with_its_id() -> None:
    with closing(Received()) as received, posting(received.url, f"X-Key: {TOKEN}\n") as posted:
        posted.send(4, ALERTS)
        assert posted.settle(30)
        assert (posted.delivered_batch, posted.counts) == (4, Counts(3))
        assert [body for *_, body in received.posts] == ALERTS
        path, headers, _ = received.posts[0]
        assert path == f"/hooks/{TOKEN}?team=a"
        assert headers["Idempotency-Key"] == ALERTS[0]["id"]
        assert (headers["Content-Type"], headers["X-Key"]) == ("application/json", TOKEN)
        posted.send(7, [])
        assert posted.delivered_batch == 7, "a batch without alerts is done at once"


@pytest.mark.parametrize("status", [302, 401, 404, 408, 429, 500, 503])
def test_what_is_not_taken_is_posted_again_before_the_next(status: int) -> None:
    with closing(Received([status, status])) as received, posting(received.url) as posted:
        posted.send(1, ALERTS[:2])
        until(lambda: posted.delivered_batch == 1)
        assert [body for *_, body in received.posts] == [ALERTS[0]] * 3 + [ALERTS[1]]
        assert posted.counts == Counts(2, 0, 2)
        assert posted.trouble is None


def test_an_alert_that_will_never_be_taken_holds_up_no_other() -> None:
    with closing(Received([400])) as received, posting(received.url) as posted:
        posted.send(1, ALERTS[:2])
        assert posted.settle(30)
        assert posted.counts == Counts(1, 1)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_an_alert_that_is_refused_for_good_is_warned_of_once(status: int) -> None:
    tables = SimpleNamespace(facts={}, marked=lambda name: 0, mark=lambda name, batch: None)
    warnings: list[str] = []
    with closing(Received([status])) as received, posting(received.url) as posted:
        alerts = Alerts(tables, posted, list, warnings.append)
        posted.send(1, ALERTS[:2])
        assert posted.settle(30)
        alerts.post(tables)
        alerts.finish(tables, 30)
        place = received.url.partition("/hooks")[0]
    refused = (
        f"webhook {place}: it answered {status} and refused 1 alert for good: not posted again"
    )
    assert warnings == [refused]


def test_where_nobody_listens_it_is_said_without_the_token_and_tried_until_somebody_does() -> None:
    with closing(Received()) as received:
        url = received.url
    with posting(url, f"Authorization: Bearer {TOKEN}") as posted:
        posted.send(1, ALERTS[:1])
        assert not posted.settle(30)
        place = url.partition("/hooks")[0]
        assert posted.trouble == f"webhook {place}: Connection refused"
        assert TOKEN not in repr(endpoint(url, f"Authorization: Bearer {TOKEN}"))
        until(lambda: posted.counts.failed > 3)
        assert (posted.delivered_batch, posted.pending) == (-1, 1)


@pytest.mark.parametrize("connect_s", [0, 0.4])
def test_who_answers_nothing_or_for_ever_is_let_go(
    monkeypatch: pytest.MonkeyPatch, connect_s: float
) -> None:
    """Also if it takes longer to connect than an attempt may take afterwards."""
    monkeypatch.setattr(webhook, "_STEP_S", 0.05)
    monkeypatch.setattr(webhook, "_WHOLE_S", 0.2)
    connect = HTTPConnection.connect

    def connect_late(connection: HTTPConnection) -> None:
        time.sleep(connect_s)
        connect(connection)

    monkeypatch.setattr(HTTPConnection, "connect", connect_late)

    def drip(client: socket.socket, byte: bytes) -> None:
        with client:
            try:
                while byte:
                    client.sendall(byte)
                    time.sleep(0.01)
                time.sleep(0.3)
            except OSError:
                pass

    for byte in (b"", b"H"):
        with socket.create_server(("127.0.0.1", 0)) as server:
            host, port = server.getsockname()
            with posting(f"http://{host}:{port}/") as posted:
                posted.send(1, ALERTS[:1])
                client, _ = server.accept()
                thread = Thread(target=drip, args=(client, byte))
                thread.start()
                until(lambda: posted.counts.failed > 0)
                thread.join()


@pytest.mark.parametrize(
    ("url", "headers", "said"),
    [
        ("ftp://h/x", "", "write it as https"),
        ("https://", "", "write it as https"),
        ("https://h:70000/", "", "write it as https"),
        ("https://h/a b", "", "write it as https"),
        ("https://h/\x01", "", "write it as https"),
        ("https://h:0/", "", "write it as https"),
        ("https://h..example/", "", "write it as https"),
        (f"https://{'h' * 64}.example/", "", "write it as https"),
        (f"https://me:{TOKEN}@h/", "", "put a line Authorization"),
        ("https://h/", f"X: 1\n{TOKEN}", "line 2: write it as NAME: VALUE"),
        ("https://h/", f"X y: {TOKEN}", "line 1: write it as NAME: VALUE"),
    ],
)
def test_what_cannot_be_posted_to_is_refused_without_repeating_it(
    url: str, headers: str, said: str
) -> None:
    with pytest.raises(InvalidRequest, match=said) as refused:
        endpoint(url, headers)
    assert TOKEN not in str(refused.value)


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
@pytest.mark.parametrize("host", ["::1", "2001:db8::abcd", "fe80::1%eth0"])
def test_an_ipv6_address_needs_no_port(scheme: str, port: int, host: str) -> None:
    for text, expected in (("", port), (":8443", 8443)):
        with closing(endpoint(f"{scheme}://[{host}]{text}/").connection()) as connection:
            assert (connection.host, connection.port) == (host, expected)


def test_prometheus_reads_what_was_done_and_what_waits() -> None:
    [port] = free_ports(1)
    progress = {"batch": 7, "decided": 40, "rejected": 2, "alerts": 3, "waiting": 5}
    facts = {FOLLOW: {**progress, "looked_to": 1, "waits_from_ms": 1_500, "unnamed": False}}
    address = metrics_address(f"http://127.0.0.1:{port}")
    hook = SimpleNamespace(counts=Counts(1, 0, 9), pending=2)
    with served(address, SimpleNamespace(facts=facts), hook) as newest:
        newest.note_check("2026-01-01T00:00:00.000Z")
        found = {name: value for (name, _), value in scraped(address).items()}
        assert got(address, "/healthz") == (200, "following\n")
    assert time.time() - found.pop("metalog_follow_last_look_timestamp_seconds") < 60
    assert found == {
        "metalog_follow_requests_decided_total": 40,
        "metalog_follow_lines_rejected_total": 2,
        "metalog_follow_alerts_total": 3,
        "metalog_follow_requests_waiting": 5,
        "metalog_follow_batch": 7,
        "metalog_follow_waiting_since_timestamp_seconds": 1.5,
        "metalog_follow_webhook_delivered_total": 1,
        "metalog_follow_webhook_refused_total": 0,
        "metalog_follow_webhook_failed_attempts_total": 9,
        "metalog_follow_webhook_pending": 2,
    }


@pytest.mark.parametrize("text", ["127.0.0.1:1", "http://h:1,h:2", "https://h:1"])
def test_an_address_that_cannot_be_listened_on_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^--metrics "):
        metrics_address(text)


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = metrics_address(f"http://127.0.0.1:{server.getsockname()[1]}")
        refused = pytest.raises(InvalidRequest, match=r"^--metrics: .* cannot be opened")
        with refused, served(address, SimpleNamespace(facts={}), None):
            pass
