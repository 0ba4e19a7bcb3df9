"""The programs that embed the authorizer, on quorum:// of a real Kafka: through an election and an
outage they decide correctly or refuse, with the reason."""

from __future__ import annotations

import socket
from base64 import b64encode
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from metalog import InvalidSource, open_log
from metalog.log.quorum.observer import QuorumLog
from tests.support.command.example_programs import example
from tests.support.command.runs import Run
from tests.support.kafka.quorum import FOLLOWER, NODES, PASSWORDS, KafkaQuorum
from tests.support.suite.waiting import eventually

pytestmark = [pytest.mark.once, pytest.mark.xdist_group("kafka-quorum")]

TOPIC = "written-by-http"
ALLOW, DENY = "--allow-principal", "--deny-principal"


def change(run: Run, address: str, verb: str, kind: str) -> None:
    """Changes the follower's ACL to write the topic, with a client of Kafka's protocol."""
    given = (f"cluster://{address}", verb, kind, f"User:{FOLLOWER}", "--force")
    done = run("kafka-acls", *given, "--operation", "Write", "--topic", TOPIC)
    assert done.returncode == 0, done.stderr


class Proxy:
    """The proxy's responses, as (status, text)."""

    def __init__(self, port: str) -> None:
        self._base = f"http://127.0.0.1:{port}"

    def health(self) -> tuple[int, str]:
        return self._answer(Request(f"{self._base}/health"))

    def post(self) -> int:
        login = b64encode(f"{FOLLOWER}:{PASSWORDS[FOLLOWER]}".encode()).decode()
        request = Request(
            f"{self._base}/topics/{TOPIC}", b"one", {"Authorization": f"Basic {login}"}
        )
        return self._answer(request)[0]

    def _answer(self, request: Request) -> tuple[int, str]:
        try:
            with urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()


def leader_of(quorum: KafkaQuorum) -> int | None:
    log = open_log(f"quorum://{quorum.controller_bootstrap}")
    assert isinstance(log, QuorumLog)
    try:
        return log.leader.id
    except InvalidSource:
        return None
    finally:
        log.close()


def test_the_proxy_follows_kafka_through_an_election_and_an_outage(
    kafka_quorum: KafkaQuorum, run: Run
) -> None:
    source = f"quorum://{kafka_quorum.controller_bootstrap}"
    with example("http_proxy", source, kafka_quorum.bootstrap) as program:
        proxy = Proxy(program.said("open")[0])
        assert eventually(lambda: proxy.health()[0] == 200), proxy.health()
        assert eventually(lambda: proxy.post() == 403), proxy.health()
        change(run, kafka_quorum.bootstrap, "--add", ALLOW)
        assert eventually(lambda: proxy.post() == 200)
        leader = leader_of(kafka_quorum)
        assert leader is not None
        others = [node for node in NODES if node != leader]
        kafka_quorum.freeze(leader)
        try:
            assert eventually(lambda: leader_of(kafka_quorum) in others)
            elected = leader_of(kafka_quorum)
            assert elected is not None
            change(run, kafka_quorum.controllers[elected], "--add", DENY)
            assert eventually(lambda: proxy.post() == 403)
            kafka_quorum.freeze(*others)
            assert eventually(lambda: proxy.post() == 503)
            status, text = proxy.health()
            assert status == 503
            assert text.startswith("the log was not read for stale.deny.after.ms or longer")
            assert "; from offset " in text
        finally:
            kafka_quorum.thaw(*NODES)
        seen: list[int] = []
        assert eventually(lambda: seen.append(proxy.post()) or seen[-1] == 403), proxy.health()
        assert set(seen) <= {503, 403}
        assert eventually(lambda: proxy.health()[0] == 200), proxy.health()
    change(run, kafka_quorum.bootstrap, "--remove", DENY)
    change(run, kafka_quorum.bootstrap, "--remove", ALLOW)


def test_the_broker_opens_by_kafkas_own_log_and_its_users_log_in(kafka_quorum: KafkaQuorum) -> None:
    with example("embedded_broker", f"quorum://{kafka_quorum.controller_bootstrap}") as program:
        ports = dict([program.said("open"), program.said("open")])
        with socket.create_connection(("127.0.0.1", int(ports["CLIENT"])), 20) as connection:
            file = connection.makefile("rw")
            print(f"LOGIN {FOLLOWER} {PASSWORDS[FOLLOWER]}", file=file, flush=True)
            assert file.readline() == "OK\n"
            print(f"READ {TOPIC}", file=file, flush=True)
            assert file.readline() == "DENIED\n"
