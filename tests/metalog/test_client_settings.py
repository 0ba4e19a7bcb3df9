"""Kafka's client keys as librdkafka's: supported keys are mapped; others are refused by name,
without the value."""

from __future__ import annotations

import pytest

from metalog.config.client_settings import librdkafka_settings
from metalog.errors import InvalidRequest

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required {};"


def test_sasl_scram_over_tls() -> None:
    settings, left_out = librdkafka_settings(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": SCRAM.format('username="a b" password="x\\"y;z"'),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "/ca.pem",
            "ssl.endpoint.identification.algorithm": "",
            "request.timeout.ms": "5000",
            "default.api.timeout.ms": "60000",
        }
    )
    assert settings == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "a b",
        "sasl.password": 'x"y;z',
        "ssl.ca.location": "/ca.pem",
        "ssl.endpoint.identification.algorithm": "none",
        "socket.timeout.ms": "5000",
    }
    assert left_out == ["default.api.timeout.ms is not used here"]


@pytest.mark.parametrize(
    ("store", "wanted"),
    [
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "k.pem"},
            {"ssl.certificate.location": "k.pem", "ssl.key.location": "k.pem"},
        ),
        (
            {
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.location": "k.p12",
                "ssl.keystore.password": "p",
                "ssl.key.password": "q",
            },
            {
                "ssl.keystore.location": "k.p12",
                "ssl.keystore.password": "p",
                "ssl.key.password": "q",
            },
        ),
        (
            {
                "ssl.truststore.type": "PEM ",
                "ssl.truststore.certificates": "C",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": "K",
                "ssl.keystore.certificate.chain": "H",
            },
            {"ssl.ca.pem": "C", "ssl.key.pem": "K", "ssl.certificate.pem": "H"},
        ),
    ],
)
def test_stores_of_keys(store: dict[str, str], wanted: dict[str, str]) -> None:
    assert librdkafka_settings(store) == (wanted, [])


@pytest.mark.parametrize("store", ["ssl.truststore", "ssl.keystore"])
def test_a_file_in_pem_has_no_password_of_a_store(store: str) -> None:
    """Kafka's DefaultSslEngineFactory refuses it, too, even if it is empty."""
    with pytest.raises(InvalidRequest, match=rf"^{store}\.password: PEM has no such password"):
        librdkafka_settings(
            {f"{store}.type": "PEM", f"{store}.location": "x.pem", f"{store}.password": ""}
        )


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "sasl_plaintext"])
def test_without_tls_its_settings_have_no_effect(protocol: str) -> None:
    """Kafka reads them for SSL and SASL_SSL alone, so it refuses none of them."""
    settings = {
        "security.protocol": protocol,
        "ssl.truststore.location": "old.jks",
        "ssl.truststore.password": "changeit",
        "ssl.keystore.password": "changeit",
        "ssl.endpoint.identification.algorithm": "none",
    }
    assert librdkafka_settings(settings) == ({"security.protocol": protocol}, [])


@pytest.mark.parametrize("algorithm", ["https", " HTTPS\t", ""])
def test_host_names_are_checked_by_https_alone(algorithm: str) -> None:
    """Java's handshake refuses a word that it does not know, also ``none``."""
    settings, _ = librdkafka_settings({"ssl.endpoint.identification.algorithm": algorithm})
    wanted = "https" if algorithm else "none"
    assert settings == {"ssl.endpoint.identification.algorithm": wanted}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("ssl.endpoint.identification.algorithm", "secret", "set https, or nothing"),
        ("ssl.endpoint.identification.algorithm", "none", "set https, or nothing"),
        ("ssl.truststore.password", "secret", "PEM has no such password"),
        ("ssl.keystore.password", "secret", "store without ssl.keystore.location; leave it out"),
        ("ssl.engine.factory.class", "secret", "is not supported"),
        ("sasl.login.callback.handler.class", "secret", "is not supported"),
        ("sasl.jaas.config", "com.secret.Module required;", "only PlainLoginModule and Scram"),
        ("sasl.jaas.config", SCRAM.format('username="secret"'), "with a username and a password"),
        ("sasl.jaas.config", SCRAM.format('username="a" password=1secret'), "option 2 of a login"),
        ("sasl.jaas.config", SCRAM.format('username="a" x="secret"'), "with a username"),
    ],
)
def test_what_cannot_be_mapped_is_named_without_its_value(key: str, value: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        librdkafka_settings({key: value})
    assert str(raised.value).startswith(key)
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)
