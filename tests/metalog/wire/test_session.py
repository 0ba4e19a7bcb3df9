"""The client's side of a connection: requests, accepted answers, and what ends it. The peer answers
with the same codec, which other tests compare with kio and a real Kafka; scramp is the server of
SCRAM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import scramp
from kio.schema.errors import ErrorCode as KafkaErrorCode

from metalog.errors import ErrorCode
from metalog.wire.client.sasl import AuthenticationFailed, LoginUnavailable, SaslCredentials
from metalog.wire.client.session import ClientSession
from metalog.wire.frames import FrameReader, Malformed, framed
from metalog.wire.messages import WireRequest, read_head, read_request, write_response
from metalog.wire.schema import request_type, response_type
from metalog.wire.versions import Features, NoCommonVersion, VersionRange, versions_response

DESCRIBE_CLUSTER = 60
SPOKEN = {
    17: VersionRange(0, 1),
    18: VersionRange(0, 4),
    36: VersionRange(0, 2),
    60: VersionRange(0, 2),
}
SCRAM = SaslCredentials("SCRAM-SHA-512", "alice", "secret")


class Peer:
    """Answers each request by ``answers[api key]``, a function from the request to a body."""

    def __init__(self, answers: dict[int, Callable[[WireRequest], Any]] | None = None) -> None:
        self.asked: list[tuple[int, int]] = []
        self._frames = FrameReader()
        self._answers = {
            18: lambda request: versions_response(request.head.version, ErrorCode.NONE, SPOKEN)
        }
        self._answers |= answers or {}

    def answer(self, data: bytes) -> bytes:
        out = b""
        for frame in self._frames.feed(data):
            head = read_head(frame)
            self.asked.append((head.api_key, head.version))
            body = self._answers[head.api_key](read_request(frame))
            out += framed(write_response(body, head.correlation_id))
        return out


def connect(session: ClientSession, peer: Peer, *, chunk: int = 1 << 20) -> None:
    """Runs until neither side has more to send."""
    to_send = session.opening()
    while to_send:
        answered = peer.answer(to_send)
        to_send = b"".join(
            session.receive(answered[at : at + chunk]).to_send
            for at in range(0, len(answered), chunk)
        )


def session_of(credentials: SaslCredentials | None = None) -> ClientSession:
    return ClientSession("me", credentials, entropy=lambda size: b"n" * size)


def scram_server(password: str) -> dict[int, Callable[[WireRequest], Any]]:
    """Handshake and authentication, as by a Kafka that has the user alice."""
    mechanism = scramp.ScramMechanism("SCRAM-SHA-512")
    held = mechanism.make_auth_info(password, iteration_count=4096)
    server = mechanism.make_server(lambda _: held)
    tokens = _tokens(server)
    next(tokens)

    def authenticate(request: WireRequest) -> Any:
        try:
            code, token = KafkaErrorCode.none, tokens.send(request.body.auth_bytes)
        except scramp.ScramException:
            code, token = KafkaErrorCode.sasl_authentication_failed, b""
        declared = response_type(36, request.head.version)
        message = "Authentication failed: bad\ncredentials" if code else None
        return declared(error_code=code, error_message=message, auth_bytes=token)

    def handshake(request: WireRequest) -> Any:
        return response_type(17, 1)(error_code=KafkaErrorCode.none, mechanisms=("SCRAM-SHA-512",))

    return {17: handshake, 36: authenticate}


def _tokens(server: Any) -> Iterator[bytes]:
    first = yield b""
    server.set_client_first(first.decode())
    final = yield server.get_server_first().encode()
    server.set_client_final(final.decode())
    yield server.get_server_final().encode()


def test_without_credentials_the_versions_are_all_that_is_asked() -> None:
    session, peer = session_of(), Peer()
    connect(session, peer)
    assert session.is_ready
    assert session.versions == SPOKEN
    assert peer.asked == [(18, 4)]


@pytest.mark.parametrize("chunk", [1 << 20, 1])
def test_a_login_by_scram(chunk: int) -> None:
    session, peer = session_of(SCRAM), Peer(scram_server("secret"))
    connect(session, peer, chunk=chunk)
    assert session.is_ready
    assert peer.asked == [(18, 4), (17, 1), (36, 2), (36, 2)]


def test_a_refused_login_says_why_on_one_line() -> None:
    session, peer = session_of(SCRAM), Peer(scram_server("another"))
    said = "the server refused the login: Authentication failed: bad credentials"
    with pytest.raises(AuthenticationFailed, match=said):
        connect(session, peer)
    assert not session.is_ready


@pytest.mark.parametrize("code", [each for each in KafkaErrorCode if each])
def test_only_an_error_about_the_login_itself_is_called_a_refusal(code: KafkaErrorCode) -> None:
    """The three of Kafka's ``AuthenticationException``; another attempt cannot mend those."""

    def authenticate(request: WireRequest) -> Any:
        declared = response_type(36, request.head.version)
        return declared(error_code=code, error_message=None, auth_bytes=b"")

    with pytest.raises((AuthenticationFailed, LoginUnavailable)) as raised:
        connect(session_of(SCRAM), Peer(scram_server("secret") | {36: authenticate}))
    name = code.name.upper()
    if name in {"SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM", "ILLEGAL_SASL_STATE"}:
        assert raised.type is AuthenticationFailed
        assert str(raised.value) == f"the server refused the login: {name}"
    else:
        assert raised.type is LoginUnavailable
        assert str(raised.value) == f"the server cannot check the login now: {name}"


def test_a_mechanism_that_is_not_offered() -> None:
    def handshake(_: WireRequest) -> Any:
        code = KafkaErrorCode.unsupported_sasl_mechanism
        return response_type(17, 1)(error_code=code, mechanisms=("PLAIN", "GSSAPI"))

    with pytest.raises(AuthenticationFailed, match="SCRAM-SHA-512; it offers PLAIN, GSSAPI"):
        connect(session_of(SCRAM), Peer({17: handshake}))


@pytest.mark.parametrize(
    ("most", "asked"),
    [(3, [(18, 4), (18, 3)]), (0, [(18, 4), (18, 0)]), (None, [(18, 4), (18, 0)])],
)
def test_a_peer_that_does_not_know_our_version_of_api_versions_is_asked_in_its_own(
    most: int | None, asked: list[tuple[int, int]]
) -> None:
    """KIP-511: error 35 in version 0, with the range of ApiVersions alone, or nothing (0.10)."""
    told = {} if most is None else {18: VersionRange(0, most)}

    def answer(request: WireRequest) -> Any:
        if request.head.version > (most or 0):
            return versions_response(0, ErrorCode.UNSUPPORTED_VERSION, told)
        return versions_response(request.head.version, ErrorCode.NONE, SPOKEN)

    session, peer = session_of(), Peer({18: answer})
    connect(session, peer)
    assert session.versions == SPOKEN
    assert peer.asked == asked


def cluster_request() -> Any:
    return request_type(DESCRIBE_CLUSTER, 1)(include_cluster_authorized_operations=False)


def cluster_response(request: WireRequest) -> Any:
    return response_type(DESCRIBE_CLUSTER, request.head.version)(
        throttle_time=timedelta(),
        error_code=KafkaErrorCode.none,
        cluster_id=f"answer to {request.head.correlation_id}",
        brokers=(),
    )


@pytest.mark.parametrize("chunk", [1 << 20, 1])
def test_each_answer_is_that_of_its_request(chunk: int) -> None:
    session, peer = session_of(), Peer({60: cluster_response})
    connect(session, peer)
    assert session.version(DESCRIBE_CLUSTER, range(2)) == 1
    first, one = session.ask(cluster_request())
    second, two = session.ask(cluster_request())
    answered = peer.answer(one + two)
    answers = [
        answer
        for at in range(0, len(answered), chunk)
        for answer in session.receive(answered[at : at + chunk]).answers
    ]
    assert [(each.correlation_id, each.body.cluster_id) for each in answers] == [
        (first, f"answer to {first}"),
        (second, f"answer to {second}"),
    ]


def test_an_answer_to_nothing_ends_it() -> None:
    session, peer = session_of(), Peer({60: cluster_response})
    connect(session, peer)
    answered = peer.answer(session.ask(cluster_request())[1])
    session.receive(answered)
    with pytest.raises(Malformed, match="out of order"):
        session.receive(answered)


def test_an_api_that_the_peer_lacks() -> None:
    session, peer = session_of(), Peer()
    connect(session, peer)
    with pytest.raises(NoCommonVersion, match="no version of API 1 "):
        session.version(1, range(19))
    with pytest.raises(NoCommonVersion):
        session.version(60, range(3, 9))


def test_nothing_is_asked_before_the_login() -> None:
    with pytest.raises(RuntimeError, match="the login comes first"):
        session_of(SCRAM).ask(cluster_request())


@pytest.mark.parametrize(("version", "shown"), [(3, ["new"]), (4, ["new", "old"])])
def test_version_3_lacks_the_features_whose_range_begins_at_0(
    version: int, shown: list[str]
) -> None:
    """As in Kafka: clients with this version cannot read them."""
    features = Features({"old": VersionRange(0, 1), "new": VersionRange(7, 30)}, {"old": 1}, 5)
    body = versions_response(version, ErrorCode.NONE, SPOKEN, features)
    assert [each.name for each in body.supported_features] == shown
    assert [each.name for each in body.finalized_features] == ["old"]
