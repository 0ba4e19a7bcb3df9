"""Kafka's client keys as a TLS context and a login; unsupported ones are refused by name."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from metalog.errors import InvalidRequest
from metalog.wire.client.keystore import pkcs12_identity
from metalog.wire.client.sasl import SaslCredentials
from metalog.wire.client.security import PLAINTEXT, client_settings

JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule required {};"
LOGIN = JAAS.format('username="alice" password="secret"')


def test_nothing_said_is_plaintext() -> None:
    assert client_settings({}) == PLAINTEXT


def test_sasl_over_tls() -> None:
    settings = client_settings(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": LOGIN,
            "ssl.endpoint.identification.algorithm": "",
            "request.timeout.ms": "1500",
            "client.id": "me",
            "acks": "all",
        }
    )
    security = settings.security
    assert security.credentials == SaslCredentials("SCRAM-SHA-512", "alice", "secret")
    assert security.user == "User:alice"
    assert security.tls is not None
    assert (security.tls.check_hostname, security.tls.verify_mode) == (False, ssl.CERT_REQUIRED)
    assert (settings.client_id, settings.request_timeout_s) == ("me", 1.5)
    assert settings.notes == ("acks is not used here",)
    assert "secret" not in repr(settings)


def test_names_are_checked_unless_told_otherwise() -> None:
    tls = client_settings({"security.protocol": "SSL"}).security.tls
    assert tls is not None
    assert (tls.check_hostname, tls.minimum_version) == (True, ssl.TLSVersion.TLSv1_2)


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"security.protocol": "TLS"}, "security.protocol: set one of PLAINTEXT, SSL"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism: GSSAPI .the default. is not supp"),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"},
            "sasl.jaas.config is missing",
        ),
        ({"request.timeout.ms": "0"}, "request.timeout.ms: set a whole number"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms: set a whole number"),
        ({"request.timeout.ms": "9" * 5_000}, "request.timeout.ms: set a whole number"),
        (
            {
                "security.protocol": "SSL",
                "ssl.keystore.location": "gone.p12",
                "ssl.keystore.type": "PKCS12",
            },
            "ssl.keystore.location=gone.p12: the certificates or the key cannot be used: No such",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"},
            "sasl.mechanism: OAUTHBEARER is not supported; set one of PLAIN, SCRAM-SHA-256",
        ),
        ({"default.api.timeout.ms": "-1"}, "default.api.timeout.ms: set a whole number"),
        ({"socket.connection.setup.timeout.ms": "x"}, "socket.connection.setup.timeout.ms: set"),
        (
            {
                "security.protocol": "SSL",
                "ssl.truststore.location": "gone.pem",
                "ssl.truststore.type": "PEM",
            },
            "ssl.truststore.location=gone.pem: the certificates or the key cannot be used: No such",
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.certificates": "secret",
            },
            "ssl.truststore.*: the certificates or the key cannot be used: no certificate in PEM",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.keystore.key": "secret"},
            "set both ssl.keystore.certificate.chain and ssl.keystore.key",
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": "secret",
                "ssl.keystore.certificate.chain": "secret",
            },
            "ssl.keystore.*: the certificates or the key cannot be used: no private key with its "
            "certificate in PEM format was found, or ssl.key.password is wrong",
        ),
    ],
)
def test_what_cannot_be_had_is_named(properties: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said.replace("*", r"\*")) as raised:
        client_settings(properties)
    assert "secret" not in str(raised.value)


def test_times_and_what_is_passed_over() -> None:
    settings = client_settings(
        {
            "default.api.timeout.ms": "7000",
            "socket.connection.setup.timeout.ms": "3000",
            "retry.backoff.ms": "1",
        },
        request_timeout_s=30,
    )
    assert (settings.request_timeout_s, settings.call_timeout_s) == (30, 7)
    assert settings.opening_timeout_s == 3
    assert settings.notes == ("retry.backoff.ms is not used here",)


@pytest.mark.once
def test_a_pkcs12_keystore_as_keytool_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its key and chain go to ``ssl``, and no file with the key remains."""
    store = tmp_path / "client.p12"
    make = ["keytool", "-genkeypair", "-keyalg", "EC", "-dname", "CN=client", "-alias", "a"]
    kept = ["-keystore", str(store), "-storetype", "PKCS12", "-storepass", "secret-of-store"]
    subprocess.run([*make, *kept], check=True, capture_output=True)
    left = tmp_path / "left"
    left.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(left))
    properties = {
        "security.protocol": "SSL",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(store),
    }
    password = {"ssl.keystore.password": "secret-of-store"}
    assert client_settings(properties | password).security.tls is not None
    for wrong in ({"ssl.keystore.password": "wrong-secret"}, {}):
        with pytest.raises(InvalidRequest, match=r"^ssl\.keystore") as raised:
            client_settings(properties | wrong)
        assert str(raised.value).endswith("or ssl.keystore.password is wrong")
    assert list(left.iterdir()) == []
    identity = pkcs12_identity(store.read_bytes(), "secret-of-store")
    assert "BEGIN ENCRYPTED PRIVATE KEY" in identity.pem
    assert repr(identity) == "Identity([hidden])"


def test_a_key_in_the_settings_is_left_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InvalidRequest):
        client_settings(
            {
                "security.protocol": "SSL",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": "no key",
                "ssl.keystore.certificate.chain": "no certificate",
            }
        )
    assert list(tmp_path.iterdir()) == []
