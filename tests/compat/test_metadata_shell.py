"""Our ``/image`` equals that of Kafka's metadata shell, byte for byte, on every kind of leaf.
``tree`` prints all names and contents. Kafka's shell gets its commands on standard input: with a
command as argument it may answer before it has read the file."""

import io
import subprocess
from pathlib import Path

import pytest

from metalog.ids import Uuid
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Provenance
from metalog.image.metadata import EMPTY, MetadataImage
from metalog.records import messages as m
from metalog.records.batch import encode_batch
from metalog.records.checkpoint import snapshot_batches
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.browser.builtins import BUILTINS
from shell.browser.session import ShellSession
from shell.browser.tree.root import root_directory
from shell.output.output import Output
from tests.support.kafka.cases import kafka_cases
from tests.support.kafka.tools import KafkaTools

EPOCH, TIMESTAMP = 3, 1_700_000_000_120
OPENING = (">> ", "[ Kafka Metadata Shell ]\n>> ")


def uuid(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


def broker(number: int, **fields: object) -> m.RegisterBrokerRecord:
    return m.RegisterBrokerRecord(
        broker_id=number,
        broker_epoch=number * 1000,
        incarnation_id=uuid(number << 64),
        end_points=(
            m.BrokerEndpoint("PLAIN", "b.example", 9092, 0),
            m.BrokerEndpoint("EXTERNAL", "2001:db8::1", 65535, 1),
            m.BrokerEndpoint("INNER", "10.0.0.1", 9094, 2),
            m.BrokerEndpoint("Ä", "", 9095, 3),
        ),
        features=(
            m.BrokerFeature("metadata.version", 7, 30),
            m.BrokerFeature("a.version", 1, 1),
            m.BrokerFeature("kraft.version", 0, 32767),
        ),
        **fields,
    )


def partition(number: int, **fields: object) -> m.PartitionRecord:
    return m.PartitionRecord(
        partition_id=number, topic_id=uuid(7), leader_epoch=4, partition_epoch=9, **fields
    )


def quota(value: float, name: str = "producer_byte_rate", **entity: str) -> m.ClientQuotaRecord:
    parts = tuple(m.EntityData(kind.replace("_", "-"), name) for kind, name in entity.items())
    return m.ClientQuotaRecord(entity=parts, key=name, value=value, remove=False)


def acl(number: int, *fields: object) -> m.AccessControlEntryRecord:
    return m.AccessControlEntryRecord(uuid(number), *fields)


RECORDS = [
    (m.FeatureLevelRecord("metadata.version", 30), 0),
    (m.FeatureLevelRecord("group.version", 1), 0),
    (broker(1, rack="r 1", fenced=True), 1),
    (broker(2, fenced=False, in_controlled_shutdown=True, is_migrating_zk_broker=True), 2),
    (broker(3, log_dirs=(uuid(2), uuid(1), uuid(2**127))), 3),
    (broker(10, log_dirs=(uuid(1), uuid(2)), cordoned_log_dirs=(uuid(2),)), 4),
    (broker(20, rack="", cordoned_log_dirs=()), 4),
    (
        m.RegisterControllerRecord(
            controller_id=3000,
            incarnation_id=uuid(5),
            zk_migration_ready=True,
            end_points=(m.ControllerEndpoint("CONTROLLER", "c", 9093, 3),),
            features=(m.ControllerFeature("x", -1, 2), m.ControllerFeature("Y", 0, 0)),
        ),
        0,
    ),
    (m.TopicRecord("orders.v2", uuid(7)), 0),
    (partition(0, replicas=(1, 2, 3), isr=(3,), leader=3, directories=(uuid(1),) * 3), 1),
    (partition(10, replicas=(1, 2), isr=(), leader=-1, leader_recovery_state=1), 0),
    (partition(2, replicas=(1, 2), isr=(1,), removing_replicas=(2,), adding_replicas=(3,)), 0),
    (
        partition(
            3,
            replicas=(1, 2),
            isr=(1,),
            leader=1,
            directories=(uuid(1), uuid(0)),
            eligible_leader_replicas=(2,),
            last_known_elr=(1, 2),
        ),
        2,
    ),
    (m.TopicRecord("empty", uuid(8)), 0),
    *(
        (m.ConfigRecord(kind, name, key, value), 0)
        for kind, name, key, value in (
            (2, "orders.v2", "retention.ms", "60000"),
            (4, "", "ssl.keystore.password", "of the broker"),
            (4, "1", "log.cleaner.threads", ""),
            (16, "m", "match", "a=.*,b=ü"),
            (32, "g", "share.session.timeout.ms", "{}"),
        )
    ),
    *(
        (quota(value, user=f"u{number}", client_id="c"), 0)
        for number, value in enumerate((1.0, 0.001, 1e-4, 1e7, 12345678.5, 1 / 3, 0.0, -1.5))
    ),
    (quota(1024.0, user="a(b)\\c"), 0),
    (quota(2.0, "consumer_byte_rate", user="a(b)\\c"), 0),
    (quota(float("inf"), ip="10.0.0.1"), 0),
    (quota(float("nan"), client_id="ü 100%"), 0),
    (m.ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=2**40), 0),
    (acl(100, 2, "orders", 3, "User:alice", "*", 3, 3), 0),
    (acl(101, 4, "kafka-cluster", 3, "User:CN=a, OU=b", "10.0.0.1", 15, 2), 0),
    (acl(102, 7, "*", 4, "Group:x:y", "", 2, 3), 0),
    (acl(103, 99, "unknown codes", 98, "User:z", "*", 97, 96), 0),
    *(
        (m.UserScramCredentialRecord(name, mechanism, b"\x00salt", b"\xff" * 32, b"k", 8192), 0)
        for name, mechanism in (("alice", 1), ("alice", 2), ("jürgen, user=x", 1))
    ),
    (
        m.DelegationTokenRecord(
            owner="User:o",
            requester="User:r",
            renewers=("User:a", "Group:b"),
            issue_timestamp=1,
            max_timestamp=2,
            expiration_timestamp=3,
            token_id="token-1",
        ),
        0,
    ),
]


def crafted(folder: Path, records=RECORDS) -> tuple[Path, MetadataImage]:
    """A snapshot of ``records`` and its image, with offsets as Kafka's shell counts them."""
    batches = list(
        snapshot_batches(
            records, epoch=EPOCH, timestamp=TIMESTAMP, last_contained_timestamp=TIMESTAMP
        )
    )
    file = folder / "00000000000000000100-0000000003.checkpoint"
    file.write_bytes(b"".join(map(encode_batch, batches)))
    delta = MetadataDelta(EMPTY)
    for record, _ in records:
        delta.replay(record)
    return file, delta.apply(Provenance(batches[-1].base_offset, EPOCH, TIMESTAMP))


def kafkas_tree(tools: KafkaTools, file: Path, path: str) -> str:
    done = subprocess.run(
        tools.command("org.apache.kafka.shell.MetadataShell", "--snapshot", file),
        input=f"tree {path}\nexit\n".encode(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    printed = done.stdout.decode().partition(OPENING[1])[2]
    return printed.rpartition(OPENING[0])[0]


def our_tree(image: MetadataImage, path: str) -> str:
    output = Output(io.StringIO(), io.StringIO())
    root = root_directory(image, show_secrets=True)
    ShellSession(root, BUILTINS, output).run_words(["tree", path])
    return output.out.getvalue()


@pytest.fixture(autouse=True)
def raw(monkeypatch):
    """Unescaped names, since Kafka does not make them safe for a terminal."""
    monkeypatch.setattr("shell.browser.session.safe", str)


def test_every_kind_of_leaf(kafka_tools, tmp_path):
    file, image = crafted(tmp_path)
    ours, kafkas = our_tree(image, "/image"), kafkas_tree(kafka_tools, file, "/image")
    assert ours.split("\n") == kafkas.split("\n")


def test_keys_that_kafka_does_not_know_are_shown_here_only(kafka_tools, tmp_path):
    known = [
        (m.ConfigRecord(4, "1", "plugin", "v"), 0),
        (m.ConfigRecord(2, "t", "flush.ms", "1"), 0),
    ]
    unknown = [(m.ConfigRecord(kind, "t", "plugin", "v"), 0) for kind in (2, 16, 32)]
    file, image = crafted(tmp_path, [RECORDS[0], *known, *unknown])
    assert our_tree(image, "/image/configs").count("plugin:") == 4
    kafkas = kafkas_tree(kafka_tools, file, "/image/configs")
    _, without = crafted(tmp_path, known)
    assert our_tree(without, "/image/configs") == kafkas


SUBJECTS = "acls,cluster,configs,delegationToken,features,producerIds,scram,topics"


FILES = {
    "basic-4.3": "00000000000000000000.log",
    "old-3.7": "00000000000000000149-0000000001.checkpoint",
    "large-4.3": "00000000000000012192-0000000001.checkpoint",
}
"""By case. Only the first is in this repository; ``../shared`` has all."""


@pytest.mark.parametrize(
    ("case", "name"), [(case, FILES[case.name]) for case in kafka_cases() if case.name in FILES]
)
def test_logs_and_snapshots_that_kafka_wrote(kafka_tools, case, name):
    """Except default quotas, at which Kafka's shell fails, and a snapshot's provenance, for which
    it counts the file's records."""
    file = case.metadata_dir / name
    source = open_source(str(file), environ={})
    image = replay_source(source, tolerant=True).image
    subjects = f"{SUBJECTS},provenance" if name.endswith(".log") else SUBJECTS
    path = f"/image/{{{subjects}}}"
    ours, kafkas = our_tree(image, path), kafkas_tree(kafka_tools, file, path)
    assert ours.split("\n") == kafkas.split("\n")
