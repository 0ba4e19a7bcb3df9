"""A listener speaks exactly the TLS versions and suites of its keys."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest

from metalog.errors import InvalidRequest
from metalog.hosts.host_port import Address
from metalog_node.config.tls_limits import SUITES_1_3 as UNORDERED
from metalog_node.config.tls_limits import limits, protocols
from tests.support.disk.written_log import formatted
from tests.support.node.certificates import certified
from tests.support.node.running import running_in

SUITES_1_3 = sorted(UNORDERED)
V1_2, V1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
AES128 = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"


@pytest.mark.parametrize(
    ("versions", "suites", "least", "most", "ciphers"),
    [
        (None, None, V1_2, V1_3, ()),
        ("TLSv1.3", "", V1_3, V1_3, ()),
        ("TLSv1.2", None, V1_2, V1_2, ()),
        (None, AES128, V1_2, V1_2, ("ECDHE-ECDSA-AES128-GCM-SHA256",)),
        (None, ", ".join(SUITES_1_3), V1_3, V1_3, ()),
        (
            "TLSv1.3,TLSv1.2",
            ",".join((*SUITES_1_3, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256")),
            V1_2, V1_3, ("DHE-RSA-AES256-SHA256",),
        ),
        (
            "TLSv1.2",
            "TLS_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
            V1_2, V1_2, ("AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"),
        ),
    ],
)  # fmt: skip
def test_what_the_keys_come_to(
    versions: str | None,
    suites: str | None,
    least: ssl.TLSVersion,
    most: ssl.TLSVersion,
    ciphers: tuple[str, ...],
) -> None:
    assert limits(protocols(versions), suites) == (least, most, ciphers)


@pytest.mark.parametrize(
    ("versions", "suites", "said"),
    [
        ("TLSv1.1", None, "TLSv1.1 is not supported; use TLSv1.2 or TLSv1.3"),
        ("TLSv1.2,SSLv3", None, "SSLv3 is not supported"),
        (None, "TLS_AES_128_GCM_SHA256", "can only be offered together; add TLS_AES_256_GCM"),
        ("TLSv1.3", AES128, "none of the suites belongs to a version"),
        ("TLSv1.2", ",".join(SUITES_1_3), "none of the suites belongs to a version"),
        (None, "TLS_RSA_WITH_NULL_SHA256", "TLS_RSA_WITH_NULL_SHA256 is not offered here"),
        (None, "ECDHE-RSA-AES128-GCM-SHA256", "is not offered here"),
        (None, "TLS_RSA_WITH_AES_128_GCM_SHA1:ALL", "is not offered here"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(
    versions: str | None, suites: str | None, said: str
) -> None:
    with pytest.raises(InvalidRequest, match=said):
        limits(protocols(versions), suites)


def agreed(address: Address, least: ssl.TLSVersion, most: ssl.TLSVersion, suites: str) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version, context.maximum_version = least, most
    context.set_ciphers(suites)
    with (
        socket.create_connection(address, timeout=60) as plain,
        context.wrap_socket(plain) as encrypted,
    ):
        chosen = encrypted.cipher()
    return "" if chosen is None else chosen[0]


def test_a_listener_speaks_nothing_else(tmp_path: Path) -> None:
    server = certified(tmp_path, "/CN=node")
    formatted(tmp_path / "log")
    with running_in(
        tmp_path / "log",
        **{
            "listeners": "SSL://127.0.0.1:0,OLD://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
            "listener.security.protocol.map": "SSL:SSL,OLD:SSL,CONTROLLER:PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(server.identity),
            "ssl.enabled.protocols": "TLSv1.3",
            "listener.name.old.ssl.enabled.protocols": "TLSv1.2",
            "listener.name.old.ssl.cipher.suites": AES128,
        },
    ) as node:
        new, old = node.addresses["SSL"], node.addresses["OLD"]
        assert agreed(new, V1_2, V1_3, "DEFAULT").startswith("TLS_")
        with pytest.raises(ssl.SSLError):
            agreed(new, V1_2, V1_2, "DEFAULT")
        assert agreed(old, V1_2, V1_3, "DEFAULT") == "ECDHE-ECDSA-AES128-GCM-SHA256"
        with pytest.raises(ssl.SSLError):
            agreed(old, V1_2, V1_2, "ECDHE-ECDSA-AES256-GCM-SHA384")
