"""A login that expires (KIP-368): what the client learns, when it ends, and who may log in
again."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import pytest

from metalog.principal import KafkaPrincipal
from metalog.scram import ScramCredential, ScramMechanism
from metalog.wire.frames import Malformed, framed
from metalog.wire.messages import read_response, write_request
from metalog.wire.schema import request_type, response_type
from metalog.wire.versions import VersionRange
from metalog_node.auth.authentication import PLAIN, LoginRefused, Logins
from metalog_node.net.connection import QueuedRequest, ServerConnection

HANDSHAKE, VERSIONS, DESCRIBE_ACLS, AUTHENTICATE = 17, 18, 29, 36
SPOKEN = {
    HANDSHAKE: VersionRange(0, 1),
    VERSIONS: VersionRange(0, 4),
    DESCRIBE_ACLS: VersionRange(1, 3),
    AUTHENTICATE: VersionRange(0, 2),
}
ILLEGAL_SASL_STATE, UNSUPPORTED_SASL_MECHANISM, SASL_AUTHENTICATION_FAILED = 34, 33, 58
DESCRIBE: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


class Nobody:
    """The user of the SCRAM logins."""

    is_loaded = True

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        return None

    def dummy(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        raise AssertionError("nobody logs in by SCRAM here")


class Client:
    """A client of a server whose logins last ``session_ms``, by a clock that a test sets."""

    def __init__(self, session_ms: int) -> None:
        self.now = 100.0
        logins = Logins(
            (PLAIN, "SCRAM-SHA-256"),
            Nobody(),
            {"a": "1", "b": "2"},
            os.urandom,
            {PLAIN: session_ms} if session_ms else {},
            lambda: self.now,
        )
        anonymous = KafkaPrincipal("User", "ANONYMOUS")
        self.server = ServerConnection(
            SPOKEN, logins=logins, principal=anonymous, most_bytes=1 << 20
        )

    def ask(self, api: int, version: int, **fields: Any) -> Any:
        request = request_type(api, version)(**fields)
        [step] = self.server.receive(framed(write_request(request, 1, "test")))
        return (
            step
            if isinstance(step, QueuedRequest)
            else read_response(step[4:], response_type(api, version))
        )

    def log_in(self, user: str = "a", mechanism: str = PLAIN, version: int = 2) -> Any:
        shaken = self.ask(HANDSHAKE, 1, mechanism=mechanism)
        if shaken.error_code:
            return shaken
        token = f"\0{user}\0{ {'a': 1, 'b': 2}[user] }".encode()
        return self.ask(AUTHENTICATE, version, auth_bytes=token)

    def describe(self) -> QueuedRequest:
        asked = self.ask(DESCRIBE_ACLS, 3, **DESCRIBE)
        assert isinstance(asked, QueuedRequest)
        return asked


def test_a_login_is_told_how_long_it_holds() -> None:
    assert Client(3_000).log_in().session_lifetime == timedelta(seconds=3)
    assert Client(3_000).log_in(version=1).session_lifetime == timedelta(seconds=3)
    assert Client(0).log_in().session_lifetime == timedelta()
    assert Client(3_000).log_in(version=0).error_code == 0


def test_under_the_longest_limit_a_login_never_ends() -> None:
    """Kafka takes any long; more than Python's longest timedelta ended every login."""
    client = Client((1 << 63) - 1)
    assert client.log_in().session_lifetime > timedelta(days=365_000)
    client.now += 1e9
    assert client.describe()
    assert not client.log_in().error_code
    assert client.describe()


@pytest.mark.parametrize("version", [0, 2])
def test_after_it_nothing_is_answered(version: int) -> None:
    """Also for a client too old to learn of the limit."""
    client = Client(3_000)
    client.log_in(version=version)
    client.now += 2.9
    assert client.describe().principal.name == "a"
    client.now += 0.1
    with pytest.raises(Malformed, match="login has expired"):
        client.describe()
    with pytest.raises(Malformed, match="login has expired"):
        client.ask(VERSIONS, 0)


def test_who_logs_in_again_goes_on() -> None:
    client = Client(3_000)
    client.log_in()
    for _ in range(3):
        client.now += 2.5
        assert client.log_in().session_lifetime == timedelta(seconds=3)
        assert client.describe().principal.name == "a"
    client.now += 3.5
    assert not client.log_in().error_code
    assert client.describe().principal.name == "a"


def test_nobody_becomes_somebody_else() -> None:
    client = Client(3_000)
    client.log_in()
    client.now += 2
    assert client.log_in("b").error_code == SASL_AUTHENTICATION_FAILED
    assert client.server.is_over
    assert client.server.failed_login is not None


def test_a_login_stays_with_its_mechanism() -> None:
    client = Client(3_000)
    client.log_in()
    client.now += 2
    assert client.log_in(mechanism="SCRAM-SHA-256").error_code == UNSUPPORTED_SASL_MECHANISM
    assert client.server.is_over


def test_within_a_second_of_the_last_time_or_without_a_limit_nobody_logs_in_again() -> None:
    """As in Kafka: ILLEGAL_SASL_STATE, and the connection stays. The first time may be at once."""
    client = Client(3_000)
    client.log_in()
    assert not client.log_in().error_code
    client.now += 0.9
    assert client.log_in().error_code == ILLEGAL_SASL_STATE
    client.now += 0.1
    assert not client.log_in().error_code
    unlimited = Client(0)
    unlimited.log_in()
    unlimited.now += 9_999_999
    assert unlimited.log_in().error_code == ILLEGAL_SASL_STATE
    assert client.describe()
    assert unlimited.describe()


@pytest.mark.parametrize("is_first", [True, False])
def test_amid_a_login_nothing_else_is_answered(is_first: bool) -> None:
    client = Client(3_000)
    if not is_first:
        client.log_in()
        client.now += 2
    client.ask(HANDSHAKE, 1, mechanism=PLAIN)
    with pytest.raises(Malformed, match="before the login"):
        client.describe()


@pytest.mark.parametrize("is_first", [True, False])
def test_another_handshake_amid_a_login_ends_it(is_first: bool) -> None:
    """As in Kafka; a login could go on after it."""
    client = Client(3_000)
    if not is_first:
        client.log_in()
    client.ask(HANDSHAKE, 1, mechanism=PLAIN)
    answer = client.ask(HANDSHAKE, 0, mechanism=PLAIN)
    assert (answer.error_code, answer.mechanisms) == (ILLEGAL_SASL_STATE, ())
    assert client.server.is_over
    assert client.server.failed_login is not None


def test_before_the_login_versions_are_answered_once() -> None:
    """As in Kafka; a client whose version is refused may ask again."""
    client = Client(3_000)
    assert list(client.server.receive(framed(b"\0\x12\0\x63\0\0\0\1\xff\xff")))
    assert client.ask(VERSIONS, 0).api_keys
    with pytest.raises(Malformed, match="ApiVersions was requested twice before the login"):
        client.ask(VERSIONS, 0)
    client = Client(3_000)
    client.ask(VERSIONS, 0)
    answer = client.log_in()
    assert (answer.error_code, answer.error_message) == (0, "")
    for _ in range(3):
        assert client.ask(VERSIONS, 0).api_keys


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("version", [0, 4, 99])
def test_versions_amid_a_login_end_it(is_first: bool, version: int) -> None:
    """As in Kafka: SaslAuthenticate must follow SaslHandshake."""
    client = Client(3_000)
    if not is_first:
        client.log_in()
        client.now += 2
    client.ask(HANDSHAKE, 1, mechanism=PLAIN)
    request = b"\0\x12" + version.to_bytes(2, "big") + b"\0\0\0\1\xff\xff\0\2c\2c\0"
    [step] = client.server.receive(framed(request))
    assert isinstance(step, bytes)
    answer = read_response(step[4:], response_type(VERSIONS, version if version < 99 else 0))
    assert answer.error_code == ILLEGAL_SASL_STATE
    assert not answer.api_keys
    assert client.server.is_over
    assert isinstance(client.server.failed_login, LoginRefused)
