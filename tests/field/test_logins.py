"""Faults of other servers' logins, one test each: no login without, or with another's, credential.
docs/reference/field-bugs.md describes each. A test's name begins with the number of the fault."""

from __future__ import annotations

import hmac
import os
from base64 import b64decode, b64encode
from collections.abc import Callable

import pytest

from metalog.principal import KafkaPrincipal
from metalog.scram import (
    ScramCredential,
    ScramMechanism,
    client_proof,
    credential_of,
    salted_password,
)
from metalog.wire.frames import Malformed
from metalog.wire.versions import VersionRange
from metalog_node.auth.authentication import MECHANISMS, LoginRefused, Logins
from metalog_node.auth.dummy_credentials import DummyCredentials
from metalog_node.net.connection import BEFORE_LOGIN_BYTES, ServerConnection
from tests.support.wire.hostile_requests import varint

NAME, PASSWORD = "alice", "pencil"
SHA_256 = ScramMechanism.SCRAM_SHA_256
SALT = b"0123456789abcdefghijklmn"
SALTED = salted_password(SHA_256, PASSWORD, SALT, 4096)
ALICE = KafkaPrincipal("User", NAME)
SAME = str
"""Leaves the nonce of the exchange unchanged."""


class Alice:
    is_loaded = True

    def dummy(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        return DummyCredentials({}, b"secret").of(mechanism, user)

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        return credential_of(SHA_256, SALTED, SALT, 4096) if user == NAME else None


def logins() -> Logins:
    return Logins(MECHANISMS, Alice(), {NAME: PASSWORD}, os.urandom)


def by_scram(authorization: str = "", nonce: Callable[[str], str] = SAME) -> KafkaPrincipal | None:
    """A login with the right password, and with a proof over the messages as sent."""
    login = logins().begin("SCRAM-SHA-256")
    assert login is not None
    header, bare = f"n,{authorization},", f"n={NAME},r=abc"
    challenge = login.answer(f"{header}{bare}".encode()).decode()
    fields = dict(each.split("=", 1) for each in challenge.split(","))
    assert b64decode(fields["s"]) == SALT
    final = f"c={b64encode(header.encode()).decode()},r={nonce(fields['r'])}"
    proof = client_proof(SHA_256, SALTED, ",".join((bare, challenge, final)).encode())
    login.answer(f"{final},p={b64encode(proof).decode()}".encode())
    return login.principal


def by_plain(authorization: str = "", password: str = PASSWORD) -> KafkaPrincipal | None:
    login = logins().begin("PLAIN")
    assert login is not None
    login.answer(f"{authorization}\0{NAME}\0{password}".encode())
    return login.principal


def test_the_exchange_of_these_tests_lets_alice_in() -> None:
    assert by_scram() == by_plain() == ALICE


@pytest.mark.parametrize(
    "nonce",
    [
        *(lambda _: "abc", lambda _: "another", lambda sent: sent[:-1]),
        *(lambda sent: f"{sent}0", lambda sent: f"abc{sent}"),
    ],
)
def test_cve_2024_56128_the_last_messages_nonce_is_that_of_the_exchange(
    nonce: Callable[[str], str],
) -> None:
    """Even with a correct proof for the message with another nonce."""
    with pytest.raises(LoginRefused) as refused:
        by_scram(nonce=nonce)
    assert "nonce" in refused.value.reason


@pytest.mark.parametrize("login", [by_scram, by_plain])
def test_cve_2021_38153_only_a_comparison_in_constant_time_decides(
    login: Callable[[], KafkaPrincipal | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is called once for each login, and its result alone decides."""
    compared: list[tuple[bytes, bytes]] = []

    def denying(left: bytes, right: bytes) -> bool:
        compared.append((left, right))
        return False

    monkeypatch.setattr(hmac, "compare_digest", denying)
    with pytest.raises(LoginRefused):
        login()
    [(left, right)] = compared
    assert left == right
    monkeypatch.setattr(hmac, "compare_digest", lambda *_: True)
    assert login() == ALICE


@pytest.mark.parametrize("login", [lambda: by_scram("a=bob"), lambda: by_plain("bob")])
def test_cve_2017_12610_nobody_logs_in_as_somebody_else(login: Callable[[], object]) -> None:
    """An authorization id must be the name whose password is proven."""
    with pytest.raises(LoginRefused) as refused:
        login()
    assert refused.value.reason.startswith("the client asks to act as somebody else")
    assert by_scram(f"a={NAME}") == by_plain(NAME) == ALICE


@pytest.mark.parametrize("announced", [BEFORE_LOGIN_BYTES + 1, 1 << 20, (1 << 31) - 1, -1])
def test_cve_2022_34917_a_stranger_announces_no_more_than_a_small_frame(announced: int) -> None:
    """Only four bytes have arrived: nothing is allocated for the size that they announce."""
    connection = ServerConnection({}, logins=logins(), principal=ALICE, most_bytes=100 << 20)
    with pytest.raises(Malformed):
        list(connection.receive((announced & 0xFFFF_FFFF).to_bytes(4, "big")))


@pytest.mark.parametrize(("key", "newest"), [(17, 1), (18, 4), (36, 2)])
def test_cve_2022_34917_a_strangers_lengths_are_not_trusted(key: int, newest: int) -> None:
    """For texts, bytes and tagged fields within a small frame of each request before a login."""
    vast = varint((1 << 31) - 1)
    spoken = {key: VersionRange(0, newest)}
    for version in range(newest + 1):
        head = key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff"
        for promise in (vast, b"\x7f\xff", b"\x7f\xff\xff\xff", b"\0" + vast, b"\0\0" + vast):
            connection = ServerConnection(
                spoken, logins=logins(), principal=ALICE, most_bytes=100 << 20
            )
            frame = head + promise
            try:
                answered = list(connection.receive(len(frame).to_bytes(4, "big") + frame))
            except Malformed:
                continue
            assert sum(len(each) for each in answered if isinstance(each, bytes)) < 1_000
