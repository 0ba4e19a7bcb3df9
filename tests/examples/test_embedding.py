"""The programs that embed the authorizer, on a folder that a writer changes meanwhile."""

from __future__ import annotations

import runpy
import socket
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from authorizer import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog import Replica, ScramMechanism, open_writable_log
from snapshot import format_log
from tests.support.command.example_programs import example
from tests.support.kafka.cases import REPOSITORY
from tests.support.suite.waiting import eventually

PASSWORD = "app-secret"
MAY_WRITE = Acl(
    ResourceType.TOPIC,
    "orders",
    PatternType.LITERAL,
    "User:app",
    "*",
    Operation.WRITE,
    PermissionType.ALLOW,
)


@pytest.mark.parametrize(
    "name",
    [
        "test_a_user_reads_what_its_acls_allow", "test_a_denial_says_why",
        "test_billing_could_read_once",
    ],
)  # fmt: skip
def test_the_double_is_one_for_an_applications_tests(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REPOSITORY)
    runpy.run_path("examples/access_double.py")[name]()


def asked(port: str, *lines: str) -> list[str]:
    with socket.create_connection(("127.0.0.1", int(port)), 20) as connection:
        file = connection.makefile("rw")
        answers = []
        for line in lines:
            print(line, file=file, flush=True)
            answers.append(file.readline().rstrip())
        return answers


def test_the_broker_decides_by_the_folder_as_it_changes(tmp_path: Path) -> None:
    format_log(tmp_path / "node")
    with Replica(open_writable_log(tmp_path / "node")) as writer:
        mechanism = ScramMechanism.SCRAM_SHA_512
        assert not writer.set_scram_password("app", PASSWORD, mechanism=mechanism).result(60)
        with example("embedded_broker", tmp_path / "node") as broker:
            ports = dict([broker.said("open"), broker.said("open")])
            login, write = f"LOGIN app {PASSWORD}", "WRITE orders first"
            assert asked(ports["CLIENT"], "LOGIN app wrong", write) == ["REFUSED", "DENIED"]
            assert asked(ports["CLIENT"], login, write, "", "HELLO") == [
                "OK", "DENIED", "UNKNOWN", "UNKNOWN"
            ]  # fmt: skip
            [created] = writer.create_acls(None, [MAY_WRITE])
            assert not created.result(60)
            assert eventually(lambda: asked(ports["CLIENT"], login, write)[1] == "OK first")
            assert asked(ports["ADMIN"], "READ orders") == ["OK first"]
    [line, *_] = [each for each in broker.errors.splitlines() if "User:app" in each]
    assert line.startswith("[")
    assert line.endswith(
        "INFO Principal = User:app is Denied operation = WRITE from host = 127.0.0.1 on resource"
        " = Topic:LITERAL:orders for request = Produce with resourceRefCount = 1 based on rule"
        " DefaultDeny (kafka.authorizer.logger)"
    )


def damaged_folder(tmp_path: Path) -> Path:
    """A log with one changed byte in its middle."""
    format_log(tmp_path / "node")
    with Replica(open_writable_log(tmp_path / "node")) as writer:
        for number in range(3):
            acl = MAY_WRITE._replace(resource_name=f"t{number}")
            writer.create_acls(None, [acl])[0].result(60)
    [segment] = (tmp_path / "node" / "__cluster_metadata-0").glob("*.log")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    return tmp_path / "node"


def test_a_damaged_log_opens_the_early_listener_alone_and_says_where(tmp_path: Path) -> None:
    with example("embedded_broker", damaged_folder(tmp_path)) as broker:
        assert broker.said("open")[0] == "ADMIN"
        assert broker.line() == []
        code, errors = broker.ended()
    assert code == 1
    assert ".log, offset " in errors.splitlines()[-1]


def test_the_proxys_health_names_the_record_that_keeps_it_from_loading(tmp_path: Path) -> None:
    with example("http_proxy", damaged_folder(tmp_path), "127.0.0.1:1") as proxy:
        [port] = proxy.said("open")

        def health() -> tuple[int, str]:
            try:
                with urlopen(f"http://127.0.0.1:{port}/health", timeout=60) as answer:
                    return answer.status, answer.read().decode()
            except HTTPError as error:
                with error:
                    return error.code, error.read().decode()

        assert eventually(lambda: "offset " in health()[1])
        status, text = health()
    assert status == 503
    assert text.startswith("not loaded yet: ")
    assert ".log, offset " in text
