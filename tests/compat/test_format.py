"""A node that we formatted is Kafka's: its users log in and its ACLs hold at the first start."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command import run_metalog
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_tools import KafkaTools, RealKafka

from metalog.image.features import METADATA_VERSION, METADATA_VERSIONS
from snapshot.initial_features import FEATURES, initial_features

pytestmark = pytest.mark.xdist_group("real-kafka")

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
SECURED = {
    "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
    "listener.name.client.scram-sha-256.sasl.jaas.config": (
        f'{SCRAM} required username="admin" password="admin-secret";'
    ),
    "listener.name.client.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
    "super.users": "User:ANONYMOUS;User:admin",
}
ACLS = (
    *("--add-acl", "ALLOW User:app CREATE topic:payments. --prefixed"),
    *("--add-acl", "DENY User:app ALL topic:payments.secret"),
)


def client(kafka: RealKafka, user: str, password: str, mechanism: str) -> AdminClient:
    return AdminClient(
        {
            "bootstrap.servers": kafka.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": password,
            "log_level": 0,
        }
    )


def outcome(admin: AdminClient, topic: str) -> str:
    [created] = admin.create_topics([NewTopic(topic, 1, 1)], request_timeout=20).values()
    try:
        created.result(timeout=30)
    except KafkaException as error:
        return str(error.args[0].name())
    return "created"


@pytest.mark.parametrize("dynamic", [True, False])
def test_kafka_starts_closed_on_what_we_formatted(
    kafka_tools: KafkaTools, tmp_path: Path, dynamic: bool
) -> None:
    kafka = RealKafka(kafka_tools, tmp_path, SECURED, dynamic=dynamic)
    users = (
        "SCRAM-SHA-256=[name=admin,password=admin-secret]\n"
        "SCRAM-SHA-512=[name=app,password=app-secret,iterations=8192]\n"
    )
    done = run_metalog(
        *("format", "--config", kafka.config, "--add-scram-file", "-", *ACLS),
        *(("--standalone",) if dynamic else ()),
        stdin=users,
    )
    assert done.returncode == 0, done.stderr
    with kafka:
        app = client(kafka, "app", "app-secret", "SCRAM-SHA-512")
        assert outcome(app, "payments.eu") == "created"
        assert outcome(app, "payments.secret") == "TOPIC_AUTHORIZATION_FAILED"
        assert outcome(app, "other") == "TOPIC_AUTHORIZATION_FAILED"
        with pytest.raises(KafkaException):
            client(kafka, "app", "wrong", "SCRAM-SHA-512").list_topics(timeout=3)
        admin = client(kafka, "admin", "admin-secret", "SCRAM-SHA-256")
        assert outcome(admin, "admins") == "created"
        again = run_metalog("format", "--config", kafka.config)
        assert "already formatted" in again.stderr or "nothing says who votes" in again.stderr
    listed = run_metalog("acls", kafka.log_dir, "--json").stdout.splitlines()
    assert sorted(json.loads(line)["permissionType"] for line in listed) == ["ALLOW", "DENY"]


@pytest.mark.parametrize("release", ["3.3-IV3", "4.0-IV3", "4.1-IV0", "4.3-IV0"])
def test_a_release_has_kafkas_features(kafka_tools: KafkaTools, release: str) -> None:
    said = kafka_tools.storage("version-mapping", "--release-version", release)
    theirs = {name: int(level) for name, level in re.findall(r"^([\w.]+)=(\d+)", said, re.M)}
    theirs.pop("kraft.version")
    ours = initial_features(release, {})
    assert {name: ours.get(name, 0) for name in theirs} == theirs
    assert {METADATA_VERSION, *FEATURES} == theirs.keys()
    assert METADATA_VERSIONS[ours[METADATA_VERSION]] == release
