"""KIP-506's client, and ``metalog passwd``, on a node that accepts passwords over TLS."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from confluent_kafka.admin import ScramMechanism as AdminMechanism

from metalog.scram import ScramMechanism
from metalog.wire.client.connection import Connection
from metalog.wire.client.passwords import (
    EncryptionRequired,
    NewPassword,
    PasswordClient,
    PasswordRefused,
    ScramEntity,
)
from metalog.wire.client.security import PLAINTEXT, client_settings
from metalog_node.node import Node
from shell.main import main
from tests.support.disk.written_log import formatted
from tests.support.node.certificates import Certified, certified
from tests.support.node.running import BOTH_ROLES, running, running_in

SHA_256, SHA_512 = ScramMechanism
PASSWORD = "long enough to be let pass"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    return certified(tmp_path_factory.mktemp("tls"), "/CN=node")


@pytest.fixture
def node(tmp_path: Path, server: Certified) -> Iterator[Node]:
    formatted(tmp_path / "log")
    with running_in(
        tmp_path / "log",
        **{
            "listeners": "SSL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(server.identity),
            "sasl.scram.password.change.SHA256.iterations": "5000",
        },
    ) as started:
        yield started


def over_tls(server: Certified) -> dict[str, str]:
    return {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(server.authority),
    }


def known(node: Node, user: str) -> dict[ScramMechanism, int]:
    """The iterations of each credential."""
    found = node.replica.image.scram.mechanisms
    return {each: users[user].iterations for each, users in found.items() if user in users}


def test_each_user_has_a_result_of_its_own(node: Node, server: Certified) -> None:
    alice, bob = ScramEntity("alice", SHA_256), ScramEntity("bob", SHA_512)
    settings = client_settings(over_tls(server))
    with PasswordClient([node.addresses["SSL"]], settings) as client:
        assert client.is_offered()
        result = client.set_scram_password([NewPassword(alice, PASSWORD), NewPassword(bob, None)])
        assert result.values()[alice].result(60) is None
        with pytest.raises(PasswordRefused, match=r"^bob: "):
            result.values()[bob].result(60)
        with pytest.raises(PasswordRefused, match=r"^bob: "):
            result.all().result(60)
        assert known(node, "alice") == {SHA_256: 5000}
        client.set_scram_password([NewPassword(alice, None)]).all().result(60)
        assert client.set_scram_password([]).all().result(60) is None
    assert known(node, "alice") == {}


def test_without_tls_nothing_is_sent(node: Node) -> None:
    with PasswordClient([node.addresses["PLAINTEXT"]], PLAINTEXT) as client:
        assert not client.is_offered()
        with pytest.raises(EncryptionRequired, match=r"set security\.protocol to SSL or SASL_SSL"):
            client.set_scram_password([NewPassword(ScramEntity("alice", SHA_256), PASSWORD)])
    assert known(node, "alice") == {}


def test_an_answer_about_an_unknown_mechanism_hides_no_other_result(
    node: Node, server: Certified, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = ScramEntity("alice", SHA_256), ScramEntity("bob", SHA_256)
    ask = Connection.ask

    def ask_newer(connection: Connection, request: Any) -> Any:
        answer = ask(connection, request)
        [hashed] = answer.hash_results
        first, second = (replace(hashed, user_results=(each,)) for each in hashed.user_results)
        return replace(answer, hash_results=(first, replace(second, hash_type=9)))

    with PasswordClient([node.addresses["SSL"]], client_settings(over_tls(server))) as client:
        monkeypatch.setattr(Connection, "ask", ask_newer)
        result = client.set_scram_password([NewPassword(each, PASSWORD) for each in (alice, bob)])
        assert result.values()[alice].result(60) is None
        with pytest.raises(PasswordRefused, match=r"^bob: the node's answer does not mention"):
            result.values()[bob].result(60)


def test_a_password_is_in_no_repr() -> None:
    assert PASSWORD not in repr(NewPassword(ScramEntity("alice", SHA_256), PASSWORD))


def passwd(node: Node, listener: str, folder: Path, *more: str) -> int:
    file = folder / "password"
    file.write_text(PASSWORD)
    target = f"cluster://{node.addresses[listener]}"
    return main(["passwd", target, "carol", "--password-file", str(file), *more])


def test_passwd_leaves_the_salting_to_a_node_of_ours_over_tls(
    node: Node, server: Certified, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number of iterations shows who salted; without TLS, or with given iterations, the command
    does."""
    config = tmp_path / "client.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in over_tls(server).items()))
    secure = ("--command-config", str(config))
    assert passwd(node, "SSL", tmp_path, *secure, "--mechanism", "SCRAM-SHA-256") == 0
    assert known(node, "carol") == {SHA_256: 5000}
    assert capsys.readouterr().out == "Set the SCRAM-SHA-256 password of carol, 5000 iterations.\n"
    assert passwd(node, "SSL", tmp_path, *secure, "--iterations", "6000") == 0
    assert known(node, "carol") == {SHA_256: 6000}
    warned = "metalog salts the password, so the node does not apply a password policy\n"
    assert capsys.readouterr().err == f"warning: with --iterations, {warned}"
    assert passwd(node, "PLAINTEXT", tmp_path, "--mechanism", "SCRAM-SHA-512") == 0
    assert known(node, "carol") == {SHA_256: 6000, SHA_512: 4096}
    assert capsys.readouterr().err == f"warning: without TLS, {warned}"


class LongPasswords:
    """A class for ``sasl.scram.password.policy.class``."""

    def accept(self, password: str) -> bool:
        return len(password) > 10

    def describe(self) -> str:
        return "A password has more than 10 characters"


POLICY = {"sasl.scram.password.policy.class": "long_passwords.LongPasswords"}
SHUT = {"sasl.scram.password.salted.enable": "false"}


@contextmanager
def of_two(
    folder: Path, server: Certified, monkeypatch: pytest.MonkeyPatch, **changed: str
) -> Iterator[tuple[Node, Node]]:
    """A node, and a broker that follows it and forwards to it, with the same configuration."""
    module = ModuleType("long_passwords")
    module.LongPasswords = LongPasswords  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    formatted(folder / "log")
    both = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(server.identity),
        **POLICY,
        **changed,
    }
    listeners = "SSL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0"
    of_node = {"listeners": f"{listeners},CONTROLLER://127.0.0.1:0"}
    with running_in(folder / "log", **both, **of_node) as node:
        of_broker = {
            **BOTH_ROLES,
            "process.roles": "broker",
            "node.id": "2",
            "listeners": listeners,
            "controller.quorum.bootstrap.servers": str(node.addresses["CONTROLLER"]),
            **both,
        }
        with running(of_broker) as broker:
            yield node, broker


def salted(node: Node, user: str) -> None:
    """Sets a salted password, as kafka-configs and other Admin clients do."""
    admin = AdminClient({"bootstrap.servers": str(node.addresses["PLAINTEXT"])})
    info = ScramCredentialInfo(AdminMechanism.SCRAM_SHA_256, 4096)
    asked = [UserScramCredentialUpsertion(user, info, b"short")]
    admin.alter_user_scram_credentials(asked)[user].result(60)


def deleted(node: Node, user: str) -> None:
    admin = AdminClient({"bootstrap.servers": str(node.addresses["PLAINTEXT"])})
    asked = [UserScramCredentialDeletion(user, AdminMechanism.SCRAM_SHA_256)]
    admin.alter_user_scram_credentials(asked)[user].result(60)


def test_a_node_that_takes_no_salted_passwords_has_all_of_them_judged(
    tmp_path: Path, server: Certified, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker refuses salted passwords before it forwards anything, and forwards checked ones."""
    settings = client_settings(over_tls(server))
    alice = ScramEntity("alice", SHA_256)
    with of_two(tmp_path, server, monkeypatch, **SHUT) as nodes:
        for node in nodes:
            with pytest.raises(KafkaException, match=r"POLICY_VIOLATION.*metalog passwd without"):
                salted(node, "alice")
            assert known(nodes[0], "alice") == {}
            with PasswordClient([node.addresses["SSL"]], settings) as client:
                with pytest.raises(PasswordRefused, match="more than 10 characters"):
                    client.set_scram_password([NewPassword(alice, "short")]).all().result(60)
                client.set_scram_password([NewPassword(alice, PASSWORD)]).all().result(60)
            assert known(nodes[0], "alice") == {SHA_256: 4096}
            deleted(node, "alice")
            assert known(nodes[0], "alice") == {}


def test_the_log_tells_of_a_password_that_the_policy_could_not_judge(
    tmp_path: Path,
    server: Certified,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One line, at the node that got the request."""
    settings = client_settings(over_tls(server))
    with of_two(tmp_path, server, monkeypatch) as nodes:
        for node in nodes:
            caplog.clear()
            salted(node, "alice")
            said = "User:ANONYMOUS set a salted password of 'alice', which the password policy "
            assert caplog.text.count(said) == 1
            deleted(node, "alice")
            with PasswordClient([node.addresses["SSL"]], settings) as client:
                asked = [NewPassword(ScramEntity("bob", SHA_256), PASSWORD)]
                client.set_scram_password(asked).all().result(60)
            assert caplog.text.count("could not check") == 1
