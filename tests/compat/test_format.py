"""Kafka starts on a folder that we formatted: its users log in, and its ACLs hold from the
start."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from metalog.config.properties import parse_properties, properties_mapping
from metalog.disk.files import LOCAL_FILES
from metalog.ids import ZERO_UUID, Uuid, parse_uuid
from metalog.image.state.features import METADATA_VERSION, METADATA_VERSIONS
from metalog.log.folder.single_file import read_checkpoint
from metalog.records.messages import SnapshotHeaderRecord, VotersRecord
from snapshot.initial_features import FEATURES, initial_features
from tests.support.command.runs import Run
from tests.support.kafka.tools import CLUSTER_ID, KafkaTools, RealKafka

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
    "--add-acl", "ALLOW User:app CREATE topic:payments. --prefixed",
    "--add-acl", "DENY User:app ALL topic:payments.secret",
)  # fmt: skip


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
    [created] = admin.create_topics([NewTopic(topic, 1, 1)], request_timeout=60).values()
    try:
        created.result(timeout=30)
    except KafkaException as error:
        return str(error.args[0].name())
    return "created"


ADMIN = "SCRAM-SHA-256=[name=admin,password=admin-secret]\n"
APP = "SCRAM-SHA-512=[name=app,password=app-secret,iterations=8192]\n"
MANY = 10_500
"""More ACLs than Kafka writes in one batch."""


def exported(run: Run, folder: Path) -> Path:
    """Another cluster's state: the user, the ACLs, and many more of other principals."""
    file = folder / "include-credentials.jsonl"
    other = folder / "other"
    run("format", other, "--add-scram-file", "-", *ACLS, stdin=APP)
    done = run("export", other, "-o", "json", "--include-credentials", "--to", file)
    assert done.returncode == 0, done.stderr
    acl = {"principal": "User:else", "operation": "READ", "resourceType": "TOPIC"}
    with file.open("a") as written:
        for number in range(MANY):
            written.write(json.dumps(acl | {"resourceName": f"else-{number}"}) + "\n")
    return file


@pytest.mark.parametrize("imported", [True, False])
def test_kafka_starts_closed_on_what_we_formatted(
    kafka_tools: KafkaTools, tmp_path: Path, run: Run, imported: bool
) -> None:
    kafka = RealKafka(kafka_tools, tmp_path, SECURED, dynamic=imported)
    done = run(
        "format", "--config", kafka.config, "--add-scram-file", "-",
        *(("--standalone", "--import", exported(run, tmp_path)) if imported else ACLS),
        stdin=ADMIN if imported else ADMIN + APP,
    )  # fmt: skip
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
        again = run("format", "--config", kafka.config)
        refusals = "already formatted", "no voters are configured"
        assert any(refusal in again.stderr for refusal in refusals), again.stderr
    listed = run("acls", kafka.log_dir, "--json").stdout.splitlines()
    permissions = [json.loads(line)["permissionType"] for line in listed]
    assert permissions.count("DENY") == 1
    assert permissions.count("ALLOW") == 1 + (MANY if imported else 0)


VOTERS = (
    "2@example.com:8083:MvDxzVmcRsaTz33bUuRU6A,1@[::1]:8082:JEXY6aqzQY-32P5TStzaFg,"
    "3@127.0.0.1:8084:07R5amHmR32VDA6jHkGbTA"
)
SCRAM_OPTION = 'SCRAM-SHA-512=[name=a,iterations=8192,salt="N3E=",saltedpassword="YCE="]'


@pytest.mark.parametrize(
    "options",
    [
        ("--standalone", "--add-scram", SCRAM_OPTION),
        ("--initial-controllers", VOTERS),
        ("--initial-controllers", VOTERS.replace("1@", "4@"), "--release-version", "4.0-IV3"),
        ("--no-initial-controllers", "--feature", "group.version=0"),
    ],
    ids=lambda options: options[0].strip("-"),
)
def test_a_folder_is_that_of_kafka_storage(
    kafka_tools: KafkaTools, tmp_path: Path, run: Run, options: tuple[str, ...]
) -> None:
    """Except for random values and the clock; a voter's directory id is not random."""
    kafka = RealKafka(kafka_tools, tmp_path, {}, dynamic=True)
    command = ("format", "-t", CLUSTER_ID, "-c", kafka.config, *options)
    kafka_tools.storage(*command)
    theirs = contents(kafka.log_dir)
    kafka.log_dir.rename(tmp_path / "theirs")
    done = run(*command)
    assert done.returncode == 0, done.stderr
    ours = contents(kafka.log_dir)
    if VOTERS not in options:
        for files in (theirs, ours):
            files["meta.properties"].pop("directory.id")
    assert ours == theirs


@pytest.mark.parametrize(
    ("is_dynamic", "options"),
    [
        (True, ("--standalone", "--release-version", "4.4", "--add-scram", SCRAM_OPTION)),
        (True, ("--initial-controllers", VOTERS, "--release-version", "4.4-IV0")),
        (True, ("--no-initial-controllers", "--feature", "metadata.version=32")),
        (False, ("--release-version", "4.5-IV0", "--feature", "share.version=1")),
    ],
    ids=["standalone", "voters", "joins", "static-and-unstable"],
)
def test_a_folder_of_a_newer_version_is_that_of_its_own_kafka_storage(
    newest_kafka_tools: KafkaTools,
    tmp_path: Path,
    run: Run,
    is_dynamic: bool,
    options: tuple[str, ...],
) -> None:
    """No bootstrap.checkpoint, and one snapshot of offset 0 that only its owner may read."""
    overrides = {"unstable.feature.versions.enable": "true"}
    kafka = RealKafka(newest_kafka_tools, tmp_path, overrides, dynamic=is_dynamic)
    command = ("format", "-t", CLUSTER_ID, "-c", kafka.config, *options)
    newest_kafka_tools.storage(*command)
    theirs, their_modes = contents(kafka.log_dir), modes(kafka.log_dir)
    kafka.log_dir.rename(tmp_path / "theirs")
    done = run(*command)
    assert done.returncode == 0, done.stderr
    ours = contents(kafka.log_dir)
    if VOTERS not in options:
        for files in (theirs, ours):
            files["meta.properties"].pop("directory.id")
    assert ours == theirs
    assert modes(kafka.log_dir) == their_modes


def modes(folder: Path) -> dict[str, str]:
    """The permissions of each checkpoint, as ``ls`` prints them."""
    found = folder.rglob("*.checkpoint")
    return {str(each.relative_to(folder)): stat.filemode(each.stat().st_mode) for each in found}


def contents(folder: Path) -> dict[str, Any]:
    """The contents of each file: properties, or the records of a checkpoint."""
    properties = properties_mapping(parse_properties((folder / "meta.properties").read_bytes()))
    own_id = parse_uuid(properties["directory.id"])
    found: dict[str, Any] = {"meta.properties": properties}
    for path in folder.rglob("*.checkpoint"):
        found[str(path.relative_to(folder))] = [
            (batch.is_control, without_chance(message, own_id))
            for batch in read_checkpoint(path, LOCAL_FILES)
            for message in batch.messages()
        ]
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert found.keys() == names
    return found


def without_chance(message: Any, own_id: Uuid) -> Any:
    """``message`` without the time, and with a fixed directory id."""
    if isinstance(message, SnapshotHeaderRecord):
        return message._replace(last_contained_log_timestamp=0)
    if isinstance(message, VotersRecord):
        own = [voter.voter_directory_id == own_id for voter in message.voters]
        voters = zip(message.voters, own, strict=True)
        return own, message._replace(
            voters=tuple(
                voter._replace(voter_directory_id=ZERO_UUID) if is_own else voter
                for voter, is_own in voters
            )
        )
    return message


@pytest.mark.parametrize(
    "release", ["3.3-IV3", "4.0-IV3", "4.1-IV0", "4.3-IV0", "4.4-IV0", "4.4-IV2"]
)
def test_a_release_has_kafkas_features(newest_kafka_tools: KafkaTools, release: str) -> None:
    said = newest_kafka_tools.storage("version-mapping", "--release-version", release)
    theirs = {name: int(level) for name, level in re.findall(r"^([\w.]+)=(\d+)", said, re.M)}
    theirs.pop("kraft.version")
    ours = initial_features(release, {})
    assert {name: ours.get(name, 0) for name in theirs} == theirs
    assert {METADATA_VERSION, *FEATURES} == theirs.keys()
    assert METADATA_VERSIONS[ours[METADATA_VERSION]] == release
