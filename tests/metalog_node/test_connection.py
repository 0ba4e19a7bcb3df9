"""A client's session and a server's connection, joined without a socket."""

from __future__ import annotations

import hmac
import os
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.errors import InvalidRequest
from metalog.principal import KafkaPrincipal
from metalog.scram import (
    MOST_NAME_BYTES,
    ScramCredential,
    ScramMechanism,
    client_proof,
    credential_of,
    salted_password,
)
from metalog.wire.client.sasl import (
    AuthenticationFailed,
    LoginUnavailable,
    SaslCredentials,
    exchange_of,
)
from metalog.wire.client.session import ClientSession
from metalog.wire.frames import Malformed, framed
from metalog.wire.messages import read_response, write_request
from metalog.wire.schema import request_type, response_type
from metalog.wire.versions import VersionRange, Versions
from metalog_node.auth.authentication import MECHANISMS, LoginRefused, Logins
from metalog_node.auth.dummy_credentials import DummyCredentials
from metalog_node.net.connection import BEFORE_LOGIN_BYTES, QueuedRequest, ServerConnection

ANONYMOUS = KafkaPrincipal("User", "ANONYMOUS")
SPOKEN: Versions = {
    17: VersionRange(0, 1),
    18: VersionRange(0, 4),
    29: VersionRange(1, 3),
    36: VersionRange(0, 2),
}
DESCRIBE_ACLS = 29
NAME, PASSWORD = "al=ice,of Ünit", "pencil"
"""A name that RFC 5802 escapes, and that SASLprep would not change."""
SALT = b"0123456789abcdefghijklmn"
KEPT = {
    each: credential_of(each, salted_password(each, PASSWORD, SALT, 4096), SALT, 4096)
    for each in ScramMechanism
}


class OneUser:
    is_loaded = True

    def dummy(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        return DummyCredentials({}, b"secret").of(mechanism, user)

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        return KEPT[mechanism] if user == NAME else None


def logins() -> Logins:
    return Logins(MECHANISMS, OneUser(), {NAME: PASSWORD}, os.urandom)


def server(*, with_login: bool) -> ServerConnection:
    return ServerConnection(
        SPOKEN, logins=logins() if with_login else None, principal=ANONYMOUS, most_bytes=1 << 20
    )


def describe_acls() -> object:
    return request_type(DESCRIBE_ACLS, 3)(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )


def joined(session: ClientSession, connection: ServerConnection, *, cut: int) -> None:
    """Passes bytes both ways, ``cut`` at a time, until neither has more to send."""
    to_server = session.opening()
    while to_server:
        to_client = b"".join(
            step
            for piece in pieces(to_server, cut)
            for step in connection.receive(piece)
            if isinstance(step, bytes)
        )
        to_server = b"".join(session.receive(piece).to_send for piece in pieces(to_client, cut))


def pieces(data: bytes, cut: int) -> Iterator[bytes]:
    return (data[at : at + cut] for at in range(0, len(data), cut))


@pytest.mark.parametrize("cut", [1, 1 << 20])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_login_names_the_user(mechanism: str, cut: int) -> None:
    session = ClientSession("test", SaslCredentials(mechanism, NAME, PASSWORD), entropy=os.urandom)
    connection = server(with_login=True)
    joined(session, connection, cut=cut)
    assert session.is_ready
    assert connection.principal == KafkaPrincipal("User", NAME)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("name", "password"), [(NAME, "pencil?"), ("nobody", PASSWORD)])
def test_an_unknown_user_is_told_what_a_wrong_password_is(
    mechanism: str, name: str, password: str
) -> None:
    session = ClientSession("test", SaslCredentials(mechanism, name, password), entropy=os.urandom)
    connection = server(with_login=True)
    with pytest.raises(AuthenticationFailed) as refused:
        joined(session, connection, cut=1 << 20)
    assert str(refused.value) == (
        "the server refused the login: Authentication failed during authentication due to "
        f"invalid credentials with SASL mechanism {mechanism}"
    )
    assert connection.is_over
    assert connection.principal is None
    assert connection.failed_login is not None


class FewIterations(OneUser):
    """Kafka refuses so few."""

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        known = super().scram(mechanism, user)
        return None if known is None else known._replace(iterations=4095)


@pytest.mark.parametrize("users", [OneUser(), FewIterations()])
@pytest.mark.parametrize("name", [NAME, "nobody"])
def test_the_first_answer_does_not_tell_who_is_there(users: OneUser, name: str) -> None:
    """A server's first message has a nonce, a salt and a number of iterations for every name."""
    login = logins()._replace(users=users).begin("SCRAM-SHA-256")
    assert login is not None
    message = login.answer(first_message(name)).decode()
    assert re.fullmatch(r"r=abc[0-9a-f]{48},s=[A-Za-z0-9+/]{30,}=*,i=4096", message)


def first_message(name: str, more: str = "", authorization: str = "") -> bytes:
    escaped = name.replace("=", "=3D").replace(",", "=2C")
    return f"n,{authorization},n={escaped},r=abc{more}".encode()


@pytest.mark.parametrize("name", [NAME, "nobody"])
def test_a_tokens_salt_is_another_than_the_users_whoever_is_there(name: str) -> None:
    """If only known names had two salts, two connections would show which exist."""
    salts = []
    for more in ("", ",tokenauth=true", ",tokenauth=true"):
        login = logins().begin("SCRAM-SHA-256")
        assert login is not None
        salts.append(login.answer(first_message(name, more)).split(b",s=")[1])
    assert salts[0] != salts[1] == salts[2]


def exchanged(users: OneUser, first: bytes, name: str, password: str) -> KafkaPrincipal | None:
    """The user that is admitted, by an otherwise correct client."""
    mechanism = ScramMechanism.SCRAM_SHA_256
    login = logins()._replace(users=users).begin(mechanism.mechanism_name)
    assert login is not None
    challenge = login.answer(first)
    fields = dict(each.split("=", 1) for each in challenge.decode().split(","))
    salted = salted_password(mechanism, password, b64decode(fields["s"]), int(fields["i"]))
    gs2, bare = first[: first.index(b",n=") + 1], first[first.index(b",n=") + 1 :]
    final = f"c={b64encode(gs2).decode()},r={fields['r']}".encode()
    proof = client_proof(mechanism, salted, b",".join((bare, challenge, final)))
    login.answer(final + b",p=" + b64encode(proof))
    return login.principal


def test_an_exchange_that_is_right_lets_in_by_any_salt() -> None:
    class ShortSalt(OneUser):
        def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
            salted = salted_password(mechanism, PASSWORD, b"salt", 4096)
            return credential_of(mechanism, salted, b"salt", 4096) if user == NAME else None

    for users in (OneUser(), ShortSalt()):
        assert exchanged(users, first_message(NAME), NAME, PASSWORD) == KafkaPrincipal("User", NAME)


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (first_message(NAME, ",tokenauth=true"), "login by delegation token is not supported here"),
        (first_message("nobody"), "no user of that name"),
        (first_message(NAME, authorization="a=bob"), "to act as somebody else"),
        (first_message("n" * (MOST_NAME_BYTES + 1)), "a name of more than 1024 bytes"),
        (b"n,,m=x,n=a,r=abc", "a first message that is not valid by RFC 5802"),
    ],
)
def test_who_is_not_let_in_with_the_right_password(first: bytes, reason: str) -> None:
    """A delegation token's id (KIP-48) must not be taken for a user's name."""
    with pytest.raises(LoginRefused) as refused:
        exchanged(OneUser(), first, NAME, PASSWORD)
    assert reason in refused.value.reason


def test_a_user_logs_in_by_the_mechanisms_that_it_has_a_credential_of() -> None:
    class By512(OneUser):
        def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
            return super().scram(mechanism, user) if mechanism.name.endswith("512") else None

    with pytest.raises(LoginRefused) as refused:
        exchanged(By512(), first_message(NAME), NAME, PASSWORD)
    assert "no user of that name has a SCRAM-SHA-256 credential" in refused.value.reason
    session = ClientSession(
        "test", SaslCredentials("SCRAM-SHA-512", NAME, PASSWORD), entropy=os.urandom
    )
    connection = ServerConnection(
        SPOKEN, logins=logins()._replace(users=By512()), principal=ANONYMOUS, most_bytes=1 << 20
    )
    joined(session, connection, cut=1 << 20)
    assert connection.principal == KafkaPrincipal("User", NAME)


def test_who_has_too_few_iterations_is_not_let_in() -> None:
    with pytest.raises(LoginRefused) as refused:
        exchanged(FewIterations(), first_message(NAME), NAME, PASSWORD)
    assert "fewer than 4096 iterations" in refused.value.reason


@pytest.mark.parametrize("final", ["c=biws,r=abc,p=AAAA", "c=eSws,r=R,p=AAAA", "c=biws,r=R,p="])
def test_a_final_message_belongs_to_its_exchange(final: str) -> None:
    """By its nonce and its channel binding; an empty proof is refused."""
    login = logins().begin("SCRAM-SHA-512")
    assert login is not None
    nonce = login.answer(first_message(NAME)).decode().split(",")[0][2:]
    with pytest.raises(LoginRefused):
        login.answer(final.replace("R", nonce).encode())
    assert login.principal is None
    with pytest.raises(LoginRefused):
        login.answer(final.replace("R", nonce).encode())


@pytest.mark.parametrize("users", [OneUser(), FewIterations()])
def test_the_work_is_the_same_for_known_and_unknown_names(
    users: OneUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts each look-up and each keyed hash, so that time shows nothing."""
    digested = hmac.digest

    def work(name: str) -> Counter[str]:
        counted: Counter[str] = Counter()

        class Counted(OneUser):
            def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
                counted["scram"] += 1
                return users.scram(mechanism, user)

            def dummy(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
                counted["dummy"] += 1
                return users.dummy(mechanism, user)

        def digest(key: bytes, message: bytes, kind: str) -> bytes:
            counted["hmac"] += 1
            return digested(key, message, kind)

        monkeypatch.setattr(hmac, "digest", digest)
        with pytest.raises(LoginRefused):
            exchanged(Counted(), first_message(name), name, "wrong")
        monkeypatch.undo()
        return counted

    assert work(NAME) == work("nobody")
    assert work(NAME)["dummy"] == 1


def test_names_are_taken_as_they_come_at_the_cost_of_their_length() -> None:
    """SASLprep would make 18 letters of each U+FDFA, and ends at U+0378, which Unicode 3.2 has not
    assigned. The longest cost is three times the length, if all is escaped."""
    longest = "=" * MOST_NAME_BYTES
    assert len(first_message(longest)) < BEFORE_LOGIN_BYTES / 2
    for name in (
        "\ufdfa" * (MOST_NAME_BYTES // 3),
        longest,
        "\u0378",
        "a\u00adb",
        "\x01",
        "a user= b,c",
    ):

        class Users(OneUser):
            def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
                return super().scram(mechanism, NAME) if user == name else None  # noqa: B023

        assert exchanged(Users(), first_message(name), name, PASSWORD) == KafkaPrincipal(
            "User", name
        )


@pytest.mark.parametrize("kind", ["PLAIN", "SCRAM-SHA-512"])
def test_the_log_tells_what_the_client_is_not_told(kind: str) -> None:
    """With no more of a name than fits a line."""
    login = logins().begin(kind)
    assert login is not None
    if kind == "PLAIN":
        last, reason = b"\0" + b"m" * 500 + b"\0x", "unknown user or wrong password: "
    else:
        challenge = login.answer(first_message("m" * 500)).decode()
        last = f"c=biws,{challenge.split(',')[0]},p=AAAA".encode()
        reason = f"no user of that name has a {kind} credential (user "
    with pytest.raises(LoginRefused) as refused:
        login.answer(last)
    assert refused.value.reason.rstrip(")") == f"{reason}'{'m' * 100}'"
    assert "nobody" not in str(refused.value)


def test_before_the_load_nobody_is_told_that_a_password_is_wrong() -> None:
    class NotLoaded(OneUser):
        is_loaded = False

    connection = ServerConnection(
        SPOKEN, logins=logins()._replace(users=NotLoaded()), principal=ANONYMOUS, most_bytes=1000
    )
    session = ClientSession(
        "test", SaslCredentials("SCRAM-SHA-256", NAME, PASSWORD), entropy=os.urandom
    )
    with pytest.raises(LoginUnavailable, match="the node is not ready"):
        joined(session, connection, cut=1 << 20)
    assert connection.is_over
    assert connection.principal is None


def test_a_mechanism_that_is_not_enabled_is_answered_by_those_that_are() -> None:
    session = ClientSession(
        "test", SaslCredentials("SCRAM-SHA-256", NAME, PASSWORD), entropy=os.urandom
    )
    plain_only = logins()._replace(mechanisms=("PLAIN",))
    connection = ServerConnection(SPOKEN, logins=plain_only, principal=ANONYMOUS, most_bytes=1000)
    with pytest.raises(AuthenticationFailed, match="it offers PLAIN"):
        joined(session, connection, cut=1 << 20)
    assert connection.is_over
    assert isinstance(connection.failed_login, LoginRefused)
    assert connection.failed_login.reason == "SASL mechanism 'SCRAM-SHA-256' is not enabled"


HERE = ("cluster", 1)


@pytest.mark.parametrize(
    ("meant", "on_brokers", "on_controllers"),
    [
        ({}, 0, 0),
        ({"cluster_id": "cluster", "node_id": 1}, 0, 0),
        ({"cluster_id": "other", "node_id": 1}, 129, 0),
        ({"cluster_id": "cluster", "node_id": 2}, 129, 0),
        ({"cluster_id": "cluster"}, 42, 42),
        ({"node_id": 1}, 42, 42),
    ],
)
def test_a_client_that_means_another_node_is_told_so(
    meant: dict[str, object], on_brokers: int, on_controllers: int
) -> None:
    """As Kafka 4.4.0 answers ApiVersions 5 on its listeners (KIP-1242)."""
    body = request_type(18, 5)(client_software_name="c", client_software_version="1", **meant)
    spoken = {**SPOKEN, 18: VersionRange(0, 5)}
    for identity, code in ((lambda: HERE, on_brokers), (None, on_controllers)):
        connection = ServerConnection(
            spoken, logins=None, principal=ANONYMOUS, most_bytes=1 << 20, identity=identity
        )
        [answer] = connection.receive(framed(write_request(body, 7, "c")))
        assert isinstance(answer, bytes)
        told = read_response(answer[4:], response_type(18, 5))
        assert int(told.error_code) == code
        assert bool(told.api_keys) is (code == 0)


def test_before_its_login_a_client_is_told_versions_whomever_it_means() -> None:
    """Kafka 4.4.0's brokers check it once they know the client."""
    connection = ServerConnection(
        {**SPOKEN, 18: VersionRange(0, 5)},
        logins=logins(),
        principal=ANONYMOUS,
        most_bytes=1 << 20,
        identity=lambda: HERE,
    )
    body = request_type(18, 5)(
        client_software_name="c", client_software_version="1", cluster_id="other", node_id=9
    )
    [answer] = connection.receive(framed(write_request(body, 7, "c")))
    assert isinstance(answer, bytes)
    assert int(read_response(answer[4:], response_type(18, 5)).error_code) == 0


@pytest.mark.parametrize(("name", "version"), [("  ", "1"), ("c", ""), ("c", "-1")])
def test_a_client_with_a_bad_name_of_its_software_can_try_again(name: str, version: str) -> None:
    """As in Kafka (KIP-511)."""
    connection = server(with_login=True)
    body = request_type(18, 4)(client_software_name=name, client_software_version=version)
    [answer] = connection.receive(framed(write_request(body, 7, "c")))
    assert isinstance(answer, bytes)
    told = read_response(answer[4:], response_type(18, 4))
    assert (int(told.error_code), told.api_keys) == (42, ())
    session = ClientSession("test", SaslCredentials("PLAIN", NAME, PASSWORD), entropy=os.urandom)
    joined(session, connection, cut=1 << 20)
    assert connection.principal == KafkaPrincipal("User", NAME)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("is_right", [True, False])
def test_a_client_of_before_kafka_1_0_logs_in_by_tokens_without_headers(
    mechanism: str, *, is_right: bool
) -> None:
    """After version 0 of SaslHandshake. To a wrong password the answer is the connection's end."""
    connection = server(with_login=True)
    [versions] = connection.receive(framed(write_request(request_type(18, 0)(), 6, "c")))
    assert isinstance(versions, bytes)
    assert int(read_response(versions[4:], response_type(18, 0)).error_code) == 0
    body = request_type(17, 0)(mechanism=mechanism)
    [answer] = connection.receive(framed(write_request(body, 7, "c")))
    assert isinstance(answer, bytes)
    assert int(read_response(answer[4:], response_type(17, 0)).error_code) == 0
    password = PASSWORD if is_right else "pencil?"
    exchange = exchange_of(SaslCredentials(mechanism, NAME, password), os.urandom)
    token: bytes | None = exchange.first()
    while token is not None:
        [answer] = connection.receive(framed(token))
        assert isinstance(answer, bytes)
        token = exchange.answer(answer[4:]) if answer else None
    assert exchange.is_done is is_right
    assert connection.principal == (KafkaPrincipal("User", NAME) if is_right else None)
    assert connection.is_over is not is_right
    assert (connection.failed_login is None) is is_right


@pytest.mark.parametrize("version", [2, (1 << 15) - 1])
def test_an_unknown_version_of_saslhandshake_ends_the_connection(version: int) -> None:
    asked = b"\x00\x11" + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff\x00\x05PLAIN"
    with pytest.raises(InvalidRequest, match=f"API 17 is unknown in version {version}"):
        list(server(with_login=True).receive(framed(asked)))


@pytest.mark.parametrize("cut", [1, 7, 1 << 20])
def test_requests_come_out_in_order_with_all_their_bytes(cut: int) -> None:
    connection = server(with_login=False)
    payloads = [write_request(describe_acls(), each, "test") for each in range(3)]
    stream = b"".join(map(framed, payloads))
    steps = [step for piece in pieces(stream, cut) for step in connection.receive(piece)]
    assert [step.payload for step in steps if isinstance(step, QueuedRequest)] == payloads
    assert [step.head.correlation_id for step in steps if isinstance(step, QueuedRequest)] == [
        0,
        1,
        2,
    ]
    assert connection.principal == ANONYMOUS


def test_requests_before_an_impossible_length_are_answered() -> None:
    """As in Kafka, also if all arrive at once."""
    steps = server(with_login=False).receive(
        framed(write_request(describe_acls(), 7, "test")) + b"\xff\xff\xff\xff"
    )
    step = next(steps)
    assert isinstance(step, QueuedRequest)
    assert step.head.correlation_id == 7
    with pytest.raises(Malformed, match="a frame of -1 bytes"):
        next(steps)


def test_nothing_is_asked_before_the_login() -> None:
    connection = server(with_login=True)
    with pytest.raises(Malformed, match="before the login"):
        list(connection.receive(framed(write_request(describe_acls(), 1, "test"))))


def test_sasl_authenticate_must_follow_a_handshake() -> None:
    """SaslServerAuthenticator.handleKafkaRequest of Kafka 4.4.0 closes the connection."""
    connection = server(with_login=True)
    request = request_type(36, 2)(auth_bytes=b"token")
    with pytest.raises(Malformed, match="before the login"):
        list(connection.receive(framed(write_request(request, 1, "test"))))


def test_before_the_login_a_frame_is_small() -> None:
    connection = server(with_login=True)
    with pytest.raises(Malformed, match=str(BEFORE_LOGIN_BYTES)):
        list(connection.receive((BEFORE_LOGIN_BYTES + 1).to_bytes(4, "big")))


@pytest.mark.parametrize("with_login", [True, False])
def test_an_unknown_version_of_apiversions_is_answered_in_version_0(*, with_login: bool) -> None:
    """The client can go on."""
    connection = server(with_login=with_login)
    asked = b"\x00\x12\x7f\xff" + (5).to_bytes(4, "big") + b"\xff\xff"
    [answer] = connection.receive(framed(asked))
    assert isinstance(answer, bytes)
    assert answer[4:] == bytes.fromhex("00000005002300000001001200000004")
    credentials = SaslCredentials("PLAIN", NAME, PASSWORD) if with_login else None
    session = ClientSession("test", credentials, entropy=os.urandom)
    joined(session, connection, cut=1 << 20)
    assert session.is_ready


def test_an_unknown_api_ends_the_connection() -> None:
    with pytest.raises(InvalidRequest, match="API 999 is unknown in version 0"):
        list(server(with_login=False).receive(framed(bytes.fromhex("03e7 0000 00000001 ffff"))))


@given(
    data=st.binary(max_size=300),
    cut=st.integers(1, 300),
    with_login=st.booleans(),
    handshake=st.sampled_from([None, 0, 1]),
)
def test_garbage_ends_the_connection_or_waits_for_more(
    data: bytes, cut: int, handshake: int | None, *, with_login: bool
) -> None:
    """It causes only a reason in the log, and no more than one frame is kept; also amid a login."""
    connection = server(with_login=with_login)
    if handshake is not None:
        body = request_type(17, handshake)(mechanism="SCRAM-SHA-256")
        assert list(connection.receive(framed(write_request(body, 7, "c"))))
        data = framed(data)
    with suppress(InvalidRequest):
        for piece in pieces(data, cut):
            list(connection.receive(piece))


@given(
    st.lists(
        st.tuples(st.sampled_from([17, 18, 29, 36]), st.integers(0, 4), st.binary(max_size=60)),
        max_size=5,
    )
)
def test_garbage_behind_a_good_header_is_no_fault(requests: list[tuple[int, int, bytes]]) -> None:
    connection = server(with_login=True)
    with suppress(InvalidRequest):
        for key, version, body in requests:
            head = key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff"
            list(connection.receive(framed(head + body)))


@pytest.mark.parametrize(("name", "password"), [("", ""), (NAME, ""), ("", PASSWORD)])
def test_plain_takes_no_empty_name_or_password(name: str, password: str) -> None:
    """Whatever is configured, as in Kafka."""
    login = logins()._replace(passwords={NAME: "", "": PASSWORD}).begin("PLAIN")
    assert login is not None
    with pytest.raises(LoginRefused):
        login.answer(f"\0{name}\0{password}".encode())
    assert login.principal is None


def test_answers_do_not_pile_up_before_the_login() -> None:
    """However many requests arrive, each is answered once the last answer was taken. The version
    is unknown: a known one is answered only once."""
    asked = framed(b"\x00\x12\x00\x63" + bytes(4) + b"\xff\xff")
    steps = server(with_login=True).receive(asked * 300)
    assert isinstance(next(steps), bytes)
    assert len(list(steps)) == 299
