"""A node reads Kafka's keys, and refuses unsupported ones with a clear message."""

import re
from pathlib import Path

import pytest

from metalog.config.client_settings import librdkafka_settings
from metalog.errors import ConfigException, InvalidRequest
from metalog.hosts.host_port import Address
from metalog_node.config.listeners import Listener, SecurityProtocol
from metalog_node.config.node_config import NodeConfig, read_config

GOOD = """\
process.roles=broker,controller
node.id=1
listeners=CONTROLLER://127.0.0.1:9093,SASL_SSL://:9094
controller.listener.names=CONTROLLER
ssl.keystore.type=PEM
ssl.keystore.location=/node.pem
super.users=User:admin
"""
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
LINES = len(GOOD.splitlines())


def configured(folder: Path, more: str = "", base: str = GOOD) -> NodeConfig:
    file = folder / "server.properties"
    file.write_text(f"{base}{more}\n")
    return read_config(file)


def test_a_node_of_both_roles(tmp_path: Path) -> None:
    config = configured(tmp_path, "advertised.listeners=SASL_SSL://node.example:9094")
    assert config.roles == {"broker", "controller"}
    assert config.listeners == (
        Listener("CONTROLLER", "127.0.0.1", 9093, SecurityProtocol.PLAINTEXT, True),
        Listener("SASL_SSL", "", 9094, SecurityProtocol.SASL_SSL, False),
    )
    assert config.advertised["SASL_SSL"] == Address("node.example", 9094)
    assert config.sasl["SASL_SSL"].mechanisms == ("SCRAM-SHA-256", "SCRAM-SHA-512")


def test_the_controllers_listener_starts_early_unless_others_are_named(tmp_path: Path) -> None:
    assert configured(tmp_path).early_start == {"CONTROLLER"}
    assert configured(tmp_path, "early.start.listeners=SASL_SSL").early_start == {"SASL_SSL"}
    assert configured(tmp_path, "early.start.listeners=").early_start == frozenset()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("node.id=x", "node.id: "),
        ("node.id=-1", "node.id: "),
        ("process.roles=zookeeper", "process.roles: unknown role 'zookeeper'; use broker"),
        ("process.roles=", "process.roles: is missing; set it to"),
        ("listeners=nonsense", "listeners: nonsense is not NAME://HOST:PORT"),
        ("listeners=PLAINTEXT://:70000", "PLAINTEXT://:70000: port 70000: give 0 to 65535"),
        ("listeners=OTHER://:1", "listeners: OTHER has no security protocol"),
        ("listeners=SSL://:1,PLAINTEXT://:1", "listeners: port 1 is used twice"),
        ("listeners=PLAINTEXT://[::]:1,CONTROLLER://:2", "PLAINTEXT listens on ::, to which no"),
        ("controller.quorum.voters=1@a:1,2@b:1", "voters: node 2 is a voter, but this node"),
        ("controller.quorum.voters=a:1", "controller.quorum.voters: a:1 is not ID@HOST:PORT"),
        ("controller.quorum.voters=1@a", "controller.quorum.voters: 'a' is not HOST:PORT"),
        ("metrics.listener=9404", "metrics.listener: 9404 is not http://HOST:PORT"),
        ("metadata.log.segment.bytes=1", "bytes=1: give a whole number from 8388608 to"),
        ("max.connections=many", "max.connections: give a whole number"),
        ("max.connections=0", "max.connections: give a whole number, 1 or more"),
        ("max.connections.per.ip=0", "per.ip: give a whole number, 1 or more"),
        ("advertised.listeners=SASL_SSL://0.0.0.0:1", "advertised.listeners: 0.0.0.0 is no"),
        ("sasl.enabled.mechanisms=GSSAPI", "sasl.enabled.mechanisms: GSSAPI is not supported"),
        ("listener.name.sasl_ssl.sasl.enabled.mechanisms=", "enabled.mechanisms: is empty"),
        (
            "listener.name.sasl_ssl.ssl.client.auth=required",
            "ssl.client.auth: set ssl.truststore.location",
        ),
        (
            "ssl.keystore.type=JKS",
            "ssl.keystore.type: this type is not supported: set PEM; convert",
        ),
        ("early.start.listeners=X", "early.start.listeners: X is not in listeners"),
        ("super.users=admin", "super.users: 'admin' has no type"),
        ("zookeeper.connect=zk:2181", "zookeeper.connect: "),
        ("sasl.scram.password.change.SHA256.iterations=1", "iterations=1: give a number"),
        ("sasl.scram.password.policy=x", "sasl.scram.password.policy is unknown"),
    ],
)
def test_an_error_names_the_file_the_line_and_the_key(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(ConfigException) as raised:
        configured(tmp_path, line)
    message = str(raised.value)
    assert message.startswith(f"{tmp_path}/server.properties, line {LINES + 1}: ")
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize("store", ["ssl.keystore", "ssl.truststore"])
def test_a_node_and_a_client_need_a_type_beside_a_file_of_certificates(
    tmp_path: Path, store: str
) -> None:
    """Kafka's default is JKS, so the same file would be read as something else there."""
    keys = {f"{store}.location": "node.pem"}
    lines = [*GOOD.splitlines(), *("=".join(pair) for pair in keys.items())]
    untyped = "\n".join(line for line in lines if not line.startswith(f"{store}.type"))
    refused = f"{store}.type: Kafka's default, JKS, is not supported: set PEM"
    with pytest.raises(ConfigException, match=re.escape(refused)):
        configured(tmp_path, base=untyped)
    with pytest.raises(InvalidRequest, match=re.escape(refused)):
        librdkafka_settings(keys)
    keys[f"{store}.type"] = "PEM"
    assert configured(tmp_path, f"{store}.type=PEM", base=f"{untyped}\n").tls
    assert librdkafka_settings(keys)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigException, match=r"server\.properties: node\.id: is missing"):
        configured(tmp_path, base="process.roles=controller\nlisteners=PLAINTEXT://:1\n")


def test_a_password_is_in_no_error_and_no_repr(tmp_path: Path) -> None:
    jaas = f'listener.name.sasl_ssl.plain.sasl.jaas.config={PLAIN} user_admin="pa55";'
    config = configured(tmp_path, f"sasl.enabled.mechanisms=PLAIN\n{jaas}")
    assert config.sasl["SASL_SSL"].passwords == {"admin": "pa55"}
    assert "pa55" not in repr(config) + repr(config.sasl)
    with pytest.raises(ConfigException) as raised:
        configured(tmp_path, f"sasl.enabled.mechanisms=PLAIN\n{jaas}\nnode.id=x")
    assert "pa55" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "passwords"),
    [
        (r'user_a="b\\"long"', {"a": 'b"long'}),
        ('/* user_eve="x" */ user_a="y"', {"a": "y"}),
        ("user_a='//' user_b=/*x*/plain", {"a": "//", "b": "plain"}),
        (r'"user_a b"="\\101"', {"a b": "A"}),
        ('user_a="old" username="u" user_a="new"', {"a": "new"}),
    ],
)
def test_the_users_of_plain_are_those_that_java_reads(
    tmp_path: Path, text: str, passwords: dict[str, str]
) -> None:
    """Issue 17: a commented-out user could log in, and a quote in a password ended it."""
    key = "listener.name.sasl_ssl.plain.sasl.jaas.config"
    given = f"sasl.enabled.mechanisms=PLAIN\n{key}={PLAIN} {text};"
    assert configured(tmp_path, given).sasl["SASL_SSL"].passwords == passwords


def test_a_listener_has_users_of_its_own(tmp_path: Path) -> None:
    names = ("sasl_ssl", "sasl_plaintext")
    keys = [
        f'listener.name.{name}.plain.sasl.jaas.config={PLAIN} user_{name}="of {name}";'
        for name in names
    ]
    text = "\n".join(["sasl.enabled.mechanisms=PLAIN", *keys])
    listeners = "listeners=CONTROLLER://:9093,SASL_SSL://:9094,SASL_PLAINTEXT://:9095"
    found = configured(tmp_path, f"{listeners}\n{text}").sasl
    assert {name: found[name.upper()].passwords for name in names} == {
        name: {name: f"of {name}"} for name in names
    }


@pytest.mark.parametrize(
    "line",
    [
        f'plain.sasl.jaas.config={PLAIN} user_eve="top-secret-1";',
        "scram-sha-256.connections.max.reauth.ms=3600000",
    ],
)
def test_a_mechanisms_key_counts_with_a_listeners_name_alone(tmp_path: Path, line: str) -> None:
    """Kafka's ``ChannelBuilders`` ignores it otherwise: it would admit users whom Kafka does
    not."""
    key = line.partition("=")[0]
    mechanism = key.partition(".")[0].upper()
    with pytest.raises(ConfigException) as raised:
        configured(tmp_path, f"sasl.enabled.mechanisms={mechanism}\n{line}")
    assert str(raised.value).endswith(
        f"line {LINES + 2}: {key}: Kafka needs a listener's name in this key; "
        f"write listener.name.sasl_ssl.{key}"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{PLAIN} // user_eve="top-secret-1";', "must end with a semicolon"),
        (f'{PLAIN} user_a="top-secret-1', "the quote at character"),
        (f'{PLAIN} user_a="top-secret-1"', "must end with a semicolon"),
        (f"{PLAIN} user_a=123;", "option 1 of a login module is not NAME="),
        (f'{PLAIN} user_a="x", user_b="top-secret-1";', "option 2 of a login module is not"),
        (f'{PLAIN} user_a="x"; {PLAIN} user_b="top-secret-1";', "it has 2 login modules"),
        ('com.example.Own required user_a="top-secret-1";', "is not Kafka's PlainLoginModule"),
        (f"{PLAIN};", "no user has a password"),
        (
            f'{PLAIN} user_{"n" * 1025}="x";',
            "can never log in: a name may have at most 1,024 bytes",
        ),
        (
            f'{PLAIN} user_a="{"top-secret-1" * 342}";',
            "'a' can never log in: a password may have at",
        ),
        ('user_a="top-secret-1";', "write CLASS required|"),
        ("", "it has 0 login modules"),
    ],
)
def test_jaas_text_that_is_not_understood_is_refused(tmp_path: Path, text: str, said: str) -> None:
    key = "listener.name.sasl_ssl.plain.sasl.jaas.config"
    with pytest.raises(ConfigException) as raised:
        configured(tmp_path, f"sasl.enabled.mechanisms=PLAIN\n{key}={text}")
    message = str(raised.value)
    assert f"line {LINES + 2}: {key}: " in message
    assert said in message
    assert "top-secret" not in message
    assert "give org.apache.kafka.common.security.plain.PlainLoginModule required user_" in message


@pytest.mark.parametrize(
    "line",
    [
        "principal.builder.class=com.example.Builder",
        "listener.name.sasl_ssl.principal.builder.class=com.example.Builder",
        "listener.name.sasl_ssl.plain.sasl.server.callback.handler.class=com.example.Handler",
        "listener.name.sasl_ssl.scram-sha-256.sasl.login.callback.handler.class=com.example.H",
        "listener.name.controller.max.connection.creation.rate=10",
        "max.connections.per.ip.overrides=10.0.0.1:5",
        "ssl.engine.factory.class=com.example.Engine",
        "ssl.truststore.certificates=-----BEGIN CERTIFICATE-----",
        "ssl.protocol=TLSv1.2",
        "config.providers=file",
    ],
)
def test_a_key_that_restricts_and_is_not_carried_out_ends_the_start(
    tmp_path: Path, line: str
) -> None:
    key, _, value = line.partition("=")
    with pytest.raises(ConfigException) as raised:
        configured(tmp_path, line)
    message = str(raised.value)
    place = f"{tmp_path}/server.properties, line {LINES + 1}: {key}: is not supported here"
    assert message.startswith(place)
    assert "; " in message
    assert "\n" not in message
    assert value not in message.removeprefix(place)


def test_values_that_restrict_nothing_are_taken(tmp_path: Path) -> None:
    builder = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
    given = f"principal.builder.class={builder}\nmax.connection.creation.rate=2147483647"
    other = "listener.name.other.principal.builder.class=com.example.Builder"
    notes = configured(tmp_path, f"{given}\nssl.protocol=TLSv1.3\n{other}").notes
    assert notes[0].startswith("not used here: ")


def test_a_listeners_own_limits(tmp_path: Path) -> None:
    """KIP-402 and KIP-368: a mechanism's key comes before the listener's, then the general one."""
    own = "listener.name.sasl_ssl"
    config = configured(
        tmp_path,
        f"max.connections=9\n{own}.max.connections=3\nconnections.max.reauth.ms=5000\n"
        f"{own}.scram-sha-512.connections.max.reauth.ms=7000",
    )
    assert config.max_connections == 9
    assert config.max_connections_of == {"SASL_SSL": 3}
    assert config.sasl["SASL_SSL"].sessions_ms == {"SCRAM-SHA-256": 5000, "SCRAM-SHA-512": 7000}
    assert configured(tmp_path).sasl["SASL_SSL"].sessions_ms == {}
    longest = configured(tmp_path, f"connections.max.reauth.ms={(1 << 63) - 1}")
    assert set(longest.sasl["SASL_SSL"].sessions_ms.values()) == {(1 << 63) - 1}
    for wrong in (
        "connections.max.reauth.ms=-1",
        f"connections.max.reauth.ms={1 << 63}",
        f"{own}.max.connections=0",
    ):
        with pytest.raises(ConfigException, match="give a whole number from"):
            configured(tmp_path, wrong)


def test_a_slip_is_pointed_out_and_what_is_not_used_is_listed(tmp_path: Path) -> None:
    notes = configured(tmp_path, "request.timeout.mss=1\nnum.network.threads=3").notes
    assert notes == (
        f"{tmp_path}/server.properties, line {LINES + 1}: request.timeout.mss: is unknown; "
        "did you mean request.timeout.ms?",
        "not used here: num.network.threads",
    )
    slip = configured(tmp_path, "ssl.truststore.locaton=/ca.pem").notes
    assert slip[0].endswith(
        "ssl.truststore.locaton: is unknown; did you mean ssl.truststore.location?"
    )
    ignored = "num.io.threads=9\nlistener.name.other.sasl.enabled.mechanisms=PLAIN"
    assert configured(tmp_path, ignored).notes == (
        "not used here: listener.name.other.sasl.enabled.mechanisms, num.io.threads",
    )
    users = "kafka.superusers=user:root"
    assert configured(tmp_path, users).notes == ("not used here: kafka.superusers",)
    kip_11 = "authorizer.class.name=kafka.security.auth.SimpleAclAuthorizer"
    assert configured(tmp_path, f"{kip_11}\n{users}").notes == ()


@pytest.mark.parametrize("store", ["ssl.keystore", "ssl.truststore"])
@pytest.mark.parametrize("prefix", ["", "listener.name.sasl_ssl."])
def test_a_file_in_pem_has_no_password_of_a_store(tmp_path: Path, prefix: str, store: str) -> None:
    """Kafka's DefaultSslEngineFactory refuses it, too."""
    key = f"{prefix}{store}.password"
    with pytest.raises(ConfigException, match=f", line {LINES + 1}: {key}: PEM has no such"):
        configured(tmp_path, f"{key}=secret")


def test_a_listeners_own_keys_are_its_own(tmp_path: Path) -> None:
    """KIP-684: only its own key makes a listener with logins ask for certificates as well."""
    listeners = "listeners=CONTROLLER://:9093,SASL_SSL://:9094,SASL_PLAINTEXT://:9095"
    config = configured(
        tmp_path,
        f"{listeners}\nlistener.name.sasl_ssl.sasl.enabled.mechanisms=scram-sha-512\n"
        "ssl.client.auth=required",
    )
    assert config.sasl["SASL_SSL"].mechanisms == ("SCRAM-SHA-512",)
    assert len(config.sasl["SASL_PLAINTEXT"].mechanisms) == 2
    assert config.tls["SASL_SSL"].client_auth == "none"
    assert config.notes == ()


def test_a_node_that_is_its_own_controller_need_not_log_in_to_one(tmp_path: Path) -> None:
    protocols = "listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
    assert configured(tmp_path, protocols).controller_client == {}
    broker = f"process.roles=broker\nlisteners=SASL_SSL://:9094\n{protocols}"
    with pytest.raises(ConfigException, match="CONTROLLER requires a login"):
        configured(tmp_path, f"{broker}\ncontroller.quorum.bootstrap.servers=c:9093")


def test_a_broker_follows_the_voters_where_only_they_are_named(tmp_path: Path) -> None:
    broker = "process.roles=broker\nlisteners=SASL_SSL://:9094"
    voters = "controller.quorum.voters=1@c-1:9093, 2@[::1]:9093"
    config = configured(tmp_path, f"{broker}\n{voters}")
    assert config.bootstrap_servers == (Address("c-1", 9093), Address("::1", 9093))


ON_TOPIC = """\
process.roles=controller
node.id=2
listeners=CONTROLLER://node-2:9093
controller.listener.names=CONTROLLER
metadata.log.dir=topic://kafka-1:9092,kafka-2:9092/acls-of-prod?snapshots=/snapshots
metadata.log.topic.security.protocol=SSL
metadata.log.topic.ssl.key.password=top-secret-1
"""


def test_the_log_in_a_topic(tmp_path: Path) -> None:
    config = configured(tmp_path, base=ON_TOPIC)
    assert config.topic is not None
    assert config.topic.address == "topic://kafka-1:9092,kafka-2:9092/acls-of-prod"
    assert config.topic.snapshots == Path("/snapshots")
    assert config.topic.settings["security.protocol"] == "SSL"
    assert "top-secret-1" not in repr(config.topic)
    assert config.metadata_dir is None
    assert config.notes == ()
    broker = ON_TOPIC.replace("=controller", "=broker").replace("CONTROLLER://", "PLAINTEXT://")
    assert configured(tmp_path, base=broker).controller_listener == "CONTROLLER"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("metadata.log.dir=topic://kafka-1:9092", "metadata.log.dir: topic://kafka-1:9092: give t"),
        ("metadata.log.dir=topic://k:1/t?what=x", "what=x: after the ? only snapshots="),
        ("metadata.log.topic.ssl.provider=x", "metadata.log.topic.ssl.provider is not supported"),
        ("metadata.log.topic.group.id=x", "metadata.log.topic.group.id is not used here"),
        ("listeners=CONTROLLER://node-2:0", "advertised.listeners: the other nodes need"),
        ("listeners=CONTROLLER://:9093", "need the address of CONTROLLER; give CONTROLLER://HO"),
        (
            "controller.listener.names=\nlisteners=PLAINTEXT://node-2:9092",
            "controller.listener.names: is missing; the nodes of a topic forward to each other's "
            "controller listeners",
        ),
    ],
)
def test_a_node_on_a_topic_that_could_not_work(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(ConfigException) as caught:
        configured(tmp_path, line, base=ON_TOPIC)
    assert said in str(caught.value)
    assert "server.properties" in str(caught.value)
