"""TLS and SASL on a node's listeners, with librdkafka and our own client."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from hypothesis import example, given
from hypothesis import strategies as st

from metalog.acl import Operation
from metalog.controller.scram import AlterScramRequest, salted_upsertion
from metalog.errors import ConfigException, InvalidRequest
from metalog.hosts.host_port import Address
from metalog.scram import ScramMechanism
from metalog.wire.client.cluster_client import ClusterClient
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import client_settings
from metalog_node.auth.principals import distinguished_name, parse_rules, principal_of
from metalog_node.node import Node
from tests.support.disk.written_log import formatted
from tests.support.node.certificates import Certified, certified
from tests.support.node.distinguished_names import tlv
from tests.support.node.running import running_in

PASSWORD = "pencil-of-alice"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    return certified(tmp_path_factory.mktemp("tls"), "/CN=node")


@pytest.fixture
def node(tmp_path: Path, server: Certified) -> Iterator[Node]:
    """Alice, a super user, has a SCRAM-SHA-256 password."""
    formatted(tmp_path)
    with running_in(
        tmp_path,
        **{
            "listeners": "SASL_SSL://127.0.0.1:0,SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(server.identity),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(server.authority),
            "listener.name.ssl.ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=(.*?),OU=admins$/$1/L,DEFAULT",
            "super.users": "User:alice",
        },
    ) as node:
        upsertion = salted_upsertion(
            "alice", ScramMechanism.SCRAM_SHA_256, PASSWORD, b"salt-of-alice-is-long", 4096
        )
        node.replica.alter_scram(AlterScramRequest(upsertions=[upsertion])).result(60)
        yield node


def authorized_operations(config: dict[str, str]) -> int:
    """The number of operations on the cluster that the client may do."""
    admin = AdminClient(config)
    described = admin.describe_cluster(include_authorized_operations=True, request_timeout=60)
    return len(described.result(60).authorized_operations or ())


def test_librdkafka_logs_in_by_scram_over_tls(node: Node, server: Certified) -> None:
    config = {
        "bootstrap.servers": str(node.addresses["SASL_SSL"]),
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(server.authority),
    }
    assert authorized_operations(config) == 7


def test_a_wrong_password_is_refused_in_kafkas_words(node: Node, server: Certified) -> None:
    settings = client_settings(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": f'{SCRAM} username="alice" password="wrong";',
            "ssl.truststore.location": str(server.authority),
            "ssl.truststore.type": "PEM",
        }
    )
    with pytest.raises(InvalidRequest, match="invalid credentials with SASL mechanism SCRAM-SHA"):
        Connection(node.addresses["SASL_SSL"], settings)


@pytest.mark.parametrize(
    ("subject", "operations"), [("/OU=Admins/CN=Alice", 0), ("/OU=admins/CN=ALICE", 7)]
)
def test_a_certificates_name_is_mapped_by_the_rules(
    node: Node, server: Certified, subject: str, operations: int
) -> None:
    client = certified(server.authority.parent, subject)
    config = {
        "bootstrap.servers": str(node.addresses["SSL"]),
        "security.protocol": "SSL",
        "ssl.ca.location": str(server.authority),
        "ssl.certificate.location": str(client.identity),
        "ssl.key.location": str(client.identity),
    }
    assert authorized_operations(config) == operations


def test_a_clients_certificate_out_of_a_pkcs12_keystore(
    node: Node, server: Certified, tmp_path: Path
) -> None:
    """Made by openssl; keytool's is in ``tests/metalog/wire/test_security.py``."""
    client = certified(server.authority.parent, "/OU=admins/CN=ALICE")
    store = tmp_path / "client.p12"
    make = ["openssl", "pkcs12", "-export", "-in", str(client.identity), "-out", str(store)]
    subprocess.run([*make, "-passout", f"pass:{PASSWORD}"], check=True, capture_output=True)
    settings = client_settings(
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": str(server.authority),
            "ssl.truststore.type": "PEM",
            "ssl.keystore.location": str(store),
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.password": PASSWORD,
        }
    )
    cluster = ClusterClient([node.addresses["SSL"]], settings)
    allowed = cluster.authorized_operations()
    cluster.close()
    assert allowed is not None
    assert Operation.ALTER in allowed


def test_a_client_without_a_certificate_is_refused_where_one_is_required(
    node: Node, server: Certified
) -> None:
    settings = client_settings(
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": str(server.authority),
            "ssl.truststore.type": "PEM",
        }
    )
    with pytest.raises(InvalidRequest, match="it may require a client certificate"):
        Connection(node.addresses["SSL"], settings)


@pytest.mark.parametrize("wish", ["none", "requested"])
def test_without_a_certificate_a_client_is_anonymous_where_none_is_required(
    tmp_path: Path, server: Certified, wish: str
) -> None:
    formatted(tmp_path)
    keys = {
        "listeners": "SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(server.identity),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(server.authority),
        "ssl.client.auth": wish,
        "super.users": "User:ANONYMOUS",
    }
    with running_in(tmp_path, **keys) as node:
        config = {
            "bootstrap.servers": str(node.addresses["SSL"]),
            "security.protocol": "SSL",
            "ssl.ca.location": str(server.authority),
        }
        assert authorized_operations(config) == 7


@pytest.mark.parametrize(
    ("wish", "signed_by", "is_admitted"),
    [
        ("none", "another", True),
        ("requested", "nobody", True),
        ("requested", "another", False),
        ("required", "nobody", False),
        ("required", "ours", True),
    ],
)
def test_a_login_needs_a_certificate_too_where_the_listener_requires_one(
    tmp_path: Path, server: Certified, wish: str, signed_by: str, *, is_admitted: bool
) -> None:
    """The principal is the login's, not the certificate's (KIP-684)."""
    formatted(tmp_path)
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    keys = {
        "listeners": "SASL_SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{plain} user_alice="{PASSWORD}";',
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(server.identity),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(server.authority),
        "listener.name.sasl_ssl.ssl.client.auth": wish,
        "super.users": "User:alice",
    }
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{plain} username="alice" password="{PASSWORD}";',
        "ssl.truststore.location": str(server.authority),
        "ssl.truststore.type": "PEM",
    }
    if signed_by != "nobody":
        other = tmp_path / "another"
        other.mkdir()
        client = certified(server.authority.parent if signed_by == "ours" else other, "/CN=bob")
        settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(client.identity)}
    with running_in(tmp_path, **keys) as node:
        address = node.addresses["SASL_SSL"]
        if not is_admitted:
            refused = "it may require a client certificate|no TLS connection"
            with pytest.raises(InvalidRequest, match=refused):
                Connection(address, client_settings(settings))
            return
        cluster = ClusterClient([address], client_settings(settings))
        allowed = cluster.authorized_operations()
        cluster.close()
        assert allowed is not None
        assert Operation.ALTER in allowed


def test_a_truststores_certificate_is_trusted_without_its_own_authority(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, server: Certified
) -> None:
    """As in Java, at a node and at a client. Another certificate of its authority is not."""
    folder = tmp_path_factory.mktemp("tls")
    pinned, other = (certified(folder, f"/CN={name}").identity for name in ("pinned", "other"))
    formatted(tmp_path)
    keys = {
        "listeners": "SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(server.identity),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(pinned),
        "ssl.client.auth": "required",
    }
    client = {
        "security.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(server.identity),
    }
    with running_in(tmp_path, **keys) as node:
        address = node.addresses["SSL"]
        own = client_settings(client | {"ssl.keystore.location": str(pinned)})
        Connection(address, own).close()
        with pytest.raises(InvalidRequest):
            Connection(address, client_settings(client | {"ssl.keystore.location": str(other)}))


def test_certificates_are_read_anew_when_asked(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, server: Certified
) -> None:
    folder = tmp_path_factory.mktemp("tls")
    kept = folder / "node.pem"
    kept.write_bytes(server.identity.read_bytes())
    formatted(tmp_path)
    tls = {
        "listeners": "SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(kept),
    }
    with running_in(tmp_path, **tls) as node:
        address = node.addresses["SSL"]
        first = shown_certificate(address)
        other = certified(folder, "/CN=renewed")
        kept.write_bytes(other.identity.read_bytes())
        node.reload_certificates()
        renewed = shown_certificate(address)
        certificates_only = certified(folder, "/CN=a third").identity.read_text()
        certificates_only = certificates_only[certificates_only.index("-----BEGIN CERT") :]
        for unusable in ("nonsense", certificates_only, other.identity.read_text()[:300]):
            kept.write_text(unusable)
            node.reload_certificates()
            assert shown_certificate(address) == renewed != first


def shown_certificate(address: Address) -> str:
    return ssl.get_server_certificate((address.host, address.port))


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("/C=DE/O=Acme, Inc./OU=Ops+CN=node 1", r"CN=node 1+OU=Ops,O=Acme\, Inc.,C=DE"),
        ("/DC=org/UID=u1", "UID=u1,DC=org"),
        ("/emailAddress=a@b.c", "1.2.840.113549.1.9.1=#1605614062" + "2e63"),
    ],
)
def test_a_name_is_written_as_java_writes_it(server: Certified, subject: str, name: str) -> None:
    written = distinguished_name(certificate_of(certified(server.authority.parent, subject)))
    assert sorted(written.replace("+", ",").split(",")) == sorted(name.replace("+", ",").split(","))


@pytest.mark.parametrize(("attributes", "is_read"), [(682, True), (683, False), (3_000, False)])
def test_a_name_has_so_many_bytes_and_no_more(
    server: Certified, attributes: int, is_read: bool
) -> None:
    """Each attribute has 12. A name of 100 KiB blocked the event loop for 150 ms."""
    folder = server.authority.parent
    der = certificate_of(certified(folder, "/CN=a" * attributes))
    if is_read:
        assert distinguished_name(der) == ",".join(["CN=a"] * attributes)
        return
    size = 12 * attributes + 4
    with pytest.raises(InvalidRequest, match=rf"has {size} bytes; at most 8192 are allowed$"):
        distinguished_name(der)


@pytest.mark.parametrize("cut", [0, 1, 2, 40])
def test_a_certificate_that_is_none_has_no_name(server: Certified, cut: int) -> None:
    der = certificate_of(certified(server.authority.parent, "/CN=x"))
    with pytest.raises(InvalidRequest, match="cannot be read"):
        distinguished_name(der[:cut])


ELEMENTS = st.recursive(
    st.builds(tlv, st.sampled_from([2, 6, 12, 0x30, 0x31, 0xA0]), st.binary(max_size=3)),
    lambda inner: st.builds(
        tlv, st.sampled_from([0x30, 0x31]), st.lists(inner, max_size=8).map(b"".join)
    ),
    max_leaves=20,
)


@given(ELEMENTS | st.binary(max_size=20))
@example(tlv(0x30, b""))
def test_whatever_a_certificate_is_its_name_is_read_or_refused(der: bytes) -> None:
    with suppress(InvalidRequest):
        assert isinstance(distinguished_name(der), str)


def certificate_of(client: Certified) -> bytes:
    pem = client.identity.read_text()
    return ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN CERTIFICATE-----") :])


def test_a_name_that_no_rule_takes_has_no_principal(server: Certified) -> None:
    der = certificate_of(certified(server.authority.parent, "/CN=x"))
    assert principal_of(der, parse_rules("RULE:^CN=y$/z/")) is None


@pytest.mark.parametrize(
    "rules", ["RULE:a/b", "nonsense", "RULE:(/x/", "DEFAULT;DEFAULT", "RULE:a/b/X", "default"]
)
def test_what_is_no_rule_is_named(rules: str) -> None:
    with pytest.raises(ConfigException, match=r"ssl\.principal\.mapping\.rules: "):
        parse_rules(rules)
