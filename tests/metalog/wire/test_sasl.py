"""The client's side of SASL: RFC 7677's own exchange, and scramp as the server."""

from __future__ import annotations

from base64 import b64decode

import pytest
import scramp

from metalog.errors import InvalidRequest
from metalog.scram import ScramMechanism
from metalog.wire.client.sasl import AuthenticationFailed, SaslCredentials, exchange_of

RFC_NONCE = b64decode("rOprNGfwEbeRWgbNEkqO")
RFC_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
RFC_CHALLENGE = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
RFC_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
RFC_VERIFIER = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
EXTENSIONS = ["ext=val1", "first=val1,second=name1 = value ,third=123"]
BROKEN_EXTENSIONS = ["ext1=value", "ext", "ext=a,b", "ext=,", "ext =value", "=1", "", "é=1"]


def rfc_exchange():
    return exchange_of(SaslCredentials("SCRAM-SHA-256", "user", "pencil"), lambda _: RFC_NONCE)


def test_the_exchange_of_rfc_7677() -> None:
    exchange = rfc_exchange()
    assert exchange.first() == RFC_FIRST
    assert exchange.answer(RFC_CHALLENGE) == RFC_FINAL
    assert not exchange.is_done
    assert exchange.answer(RFC_VERIFIER) is None
    assert exchange.is_done


@pytest.mark.parametrize("mechanism", list(ScramMechanism))
@pytest.mark.parametrize("username", ["alice", "a=b,c", "Zoë"])
def test_scramp_lets_us_in(mechanism: ScramMechanism, username: str) -> None:
    spoken = scramp.ScramMechanism(mechanism.mechanism_name)
    held = spoken.make_auth_info("pässword", iteration_count=4096)
    server = spoken.make_server(lambda name: held if name == username else None)
    exchange = exchange_of(
        SaslCredentials(mechanism.mechanism_name, username, "pässword"), lambda size: b"n" * size
    )
    server.set_client_first(exchange.first().decode())
    final = exchange.answer(server.get_server_first().encode())
    assert final is not None
    server.set_client_final(final.decode())
    exchange.answer(server.get_server_final().encode())
    assert exchange.is_done


@pytest.mark.parametrize("extensions", EXTENSIONS)
def test_a_servers_messages_may_have_extensions(extensions: str) -> None:
    """They are signed, too, so the verifier is not that of the RFC's example."""
    exchange = rfc_exchange()
    final = exchange.answer(RFC_CHALLENGE + b"," + extensions.encode())
    assert final is not None
    assert final.partition(b",p=")[0] == RFC_FINAL.partition(b",p=")[0]
    assert final != RFC_FINAL
    exchange = rfc_exchange()
    exchange.answer(RFC_CHALLENGE)
    assert exchange.answer(RFC_VERIFIER + b"," + extensions.encode()) is None
    assert exchange.is_done


@pytest.mark.parametrize("extensions", BROKEN_EXTENSIONS)
def test_a_server_with_broken_extensions_is_refused(extensions: str) -> None:
    with pytest.raises(AuthenticationFailed, match="not a SCRAM message"):
        rfc_exchange().answer(RFC_CHALLENGE + b"," + extensions.encode())
    exchange = rfc_exchange()
    exchange.answer(RFC_CHALLENGE)
    with pytest.raises(AuthenticationFailed, match="not a SCRAM message"):
        exchange.answer(RFC_VERIFIER + b"," + extensions.encode())
    assert not exchange.is_done


@pytest.mark.parametrize("last", [b"e=other-error", b"e=other-error,x=1"])
def test_a_server_may_refuse_with_its_last_message(last: bytes) -> None:
    exchange = rfc_exchange()
    exchange.answer(RFC_CHALLENGE)
    with pytest.raises(AuthenticationFailed, match=r"^the server refused the login: other-error$"):
        exchange.answer(last)
    assert not exchange.is_done


@pytest.mark.parametrize("last", [b"v=1=23", b"v=", b"x=y", b"", b"m=x,v=AAAA"])
def test_a_last_message_that_is_none_is_refused(last: bytes) -> None:
    exchange = rfc_exchange()
    exchange.answer(RFC_CHALLENGE)
    with pytest.raises(AuthenticationFailed, match="the server cannot be trusted"):
        exchange.answer(last)
    assert not exchange.is_done


@pytest.mark.parametrize(
    ("challenge", "said"),
    [
        (RFC_CHALLENGE.replace(b"r=r", b"r=R"), "not a continuation of ours"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "not a continuation"),
        (RFC_CHALLENGE.replace(b"i=4096", b"i=4095"), "4095 iterations"),
        (RFC_CHALLENGE.replace(b"i=4096", b"i=0"), "0 iterations"),
        (RFC_CHALLENGE.replace(b",s=", b",invalid,s="), "not a SCRAM message"),
        (RFC_CHALLENGE.replace(b"W22ZaJ0SNY7soEsUEjb6gQ==", b"=123"), "not a SCRAM message"),
        (RFC_CHALLENGE.replace(b"i=4096", b"i=99999999"), "99999999 iterations"),
        (RFC_CHALLENGE.replace(b"i=4096", b"i=x"), "x iterations"),
        (RFC_CHALLENGE.replace(b"W22", b"!!!"), "not a SCRAM message"),
        (b"", "not a SCRAM message"),
        (b"m=1,r=x", "not a SCRAM message"),
        (b"e=unknown-user", "the server refused the login: unknown-user"),
    ],
)
def test_a_server_that_does_not_play_by_the_rules_gets_no_proof(
    challenge: bytes, said: str
) -> None:
    with pytest.raises(AuthenticationFailed, match=said):
        rfc_exchange().answer(challenge)


def test_a_server_that_does_not_know_the_password_is_refused() -> None:
    exchange = rfc_exchange()
    exchange.answer(RFC_CHALLENGE)
    with pytest.raises(AuthenticationFailed, match="does not know the password"):
        exchange.answer(RFC_VERIFIER.replace(b"6rr", b"7rr"))
    assert not exchange.is_done


def test_plain_is_three_parts() -> None:
    exchange = exchange_of(SaslCredentials("PLAIN", "alice", "secret"), lambda _: b"")
    assert exchange.first() == b"\0alice\0secret"
    assert exchange.answer(b"") is None
    assert exchange.is_done


def test_what_cannot_be_sent_is_refused_without_the_password() -> None:
    with pytest.raises(InvalidRequest, match="NUL"):
        exchange_of(SaslCredentials("PLAIN", "alice", "a\0b"), lambda _: b"")
    with pytest.raises(
        InvalidRequest, match="GSSAPI is not supported; use one of PLAIN, SCRAM-SHA-256"
    ):
        exchange_of(SaslCredentials("GSSAPI", "alice", "a"), lambda _: b"")


def test_credentials_do_not_show_the_password() -> None:
    assert "secret" not in repr(SaslCredentials("PLAIN", "alice", "secret"))
