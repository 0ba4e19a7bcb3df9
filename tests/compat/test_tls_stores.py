"""Settings of TLS stores that Kafka's DefaultSslEngineFactory refuses are refused here, too."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from py4j.protocol import Py4JJavaError

from metalog.errors import InvalidRequest
from metalog.wire.client.security import client_settings
from tests.support.kafka.tools import KafkaTools
from tests.support.node.certificates import certified

PASSWORD = "secret-of-store"
TYPES = (None, "PEM", "pem", " PEM ", "PKCS12", "pkcs12", "")


def settings(folder: Path) -> Iterator[dict[str, str]]:
    """Every combination of a store's keys: missing, set or empty; the files are valid."""
    identity, authority = certified(folder, "/CN=client")
    key, mark, chain = identity.read_text().partition("-----BEGIN CERTIFICATE")
    p12 = folder / "store.p12"
    password = ("-passout", f"pass:{PASSWORD}")
    make = ["openssl", "pkcs12", "-export", "-in", str(identity), "-out", str(p12), *password]
    subprocess.run(make, check=True, capture_output=True)
    for store, pem, separate in (
        ("ssl.truststore", authority, {"certificates": authority.read_text()}),
        ("ssl.keystore", identity, {"certificate.chain": mark + chain, "key": key}),
    ):
        for kind in TYPES:
            file = p12 if (kind or "").upper() == "PKCS12" else pem
            values = {"location": str(file), "password": PASSWORD, **separate}
            for chosen in product(*((None, value, "") for value in values.values())):
                found = dict(zip((*values, "type"), (*chosen, kind), strict=True))
                yield {
                    f"{store}.{name}": value for name, value in found.items() if value is not None
                }


def is_refused(properties: dict[str, str]) -> bool:
    try:
        client_settings({"security.protocol": "SSL", **properties})
    except InvalidRequest:
        return True
    return False


def test_what_kafka_refuses_is_refused(either_kafka: KafkaTools, tmp_path: Path) -> None:
    """Except for a truststore in PKCS12 and JKS, which only Kafka reads."""
    java = either_kafka.classes
    keys = java.org.apache.kafka.common.config.ConfigDef()
    java.org.apache.kafka.common.config.SslConfigs.addClientSslSupport(keys)

    def is_refused_by_kafka(properties: dict[str, str]) -> bool:
        given = java.java.util.HashMap()
        for key, value in properties.items():
            given.put(key, value)
        engine = java.org.apache.kafka.common.security.ssl.DefaultSslEngineFactory()
        try:
            engine.configure(keys.parse(given))
        except Py4JJavaError:
            return True
        return False

    every = list(settings(tmp_path))
    refused = [each for each in every if is_refused_by_kafka(each)]
    assert [each for each in refused if not is_refused(each)] == []
    for accepted in (each for each in every if each not in refused and is_refused(each)):
        assert accepted["ssl.truststore.type"].upper() == "PKCS12"
