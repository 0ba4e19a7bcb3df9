"""Real Kafka accepts the passwords that we set, and stores them as we do."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, UserScramCredentialUpsertion
from confluent_kafka.admin import ScramMechanism as ClientsMechanism

from metalog import DirectoryLog
from metalog.config.client_settings import librdkafka_settings
from metalog.config.properties import parse_properties, properties_mapping
from metalog.controller.scram_password import (
    Caller,
    ScramCredentials,
    ScramPasswordRequest,
    plan_passwords,
)
from metalog.controller.scram_password_config import ScramPasswordConfig
from metalog.records.messages import UserScramCredentialRecord
from metalog.scram import ScramMechanism, credential_of
from shell.main import main
from tests.support.kafka.scram import MECHANISMS, ScramKafka
from tests.support.kafka.tools import CLUSTER_ID, KafkaTools, RealKafka

pytestmark = pytest.mark.xdist_group("real-kafka")

NOT_FOR_SASLPREP = "p\u00e4ss\u00ad\u2168 1"


@pytest.fixture
def cluster(scram_cluster: ScramKafka, capsys: pytest.CaptureFixture[str]) -> Iterator[ScramKafka]:
    yield scram_cluster
    passwd(scram_cluster, "carol", "--delete", "--yes")
    capsys.readouterr()


def passwd(cluster: ScramKafka, *arguments: str) -> int:
    settings = ("--command-config", str(cluster.settings()))
    return main(["passwd", cluster.url, *arguments, *settings])


def password_file(tmp_path: Path, password: str) -> tuple[str, str]:
    file = tmp_path / "password.txt"
    file.write_text(password, encoding="utf-8")
    return "--password-file", str(file)


def test_a_password_set_on_a_cluster(
    cluster: ScramKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert passwd(cluster, "carol", *password_file(tmp_path, NOT_FOR_SASLPREP)) == 0
    assert capsys.readouterr().out == "".join(
        f"Set the {mechanism} password of carol, 4096 iterations.\n" for mechanism in MECHANISMS
    )
    assert cluster.lets_in("carol", NOT_FOR_SASLPREP)
    assert not cluster.lets_in("carol", "another")
    by_kafkas_client = cluster.settings("carol", NOT_FOR_SASLPREP, MECHANISMS[1])
    with pytest.raises(RuntimeError, match="ClusterAuthorizationException"):
        cluster.kafka_acls("--list", settings=by_kafkas_client)
    assert passwd(cluster, "carol", "--delete", "--yes", "--mechanism", MECHANISMS[0]) == 0
    assert not cluster.lets_in("carol", NOT_FOR_SASLPREP)
    assert cluster.lets_in("carol", NOT_FOR_SASLPREP, MECHANISMS[1])


def test_iterations_stay_until_others_are_given(
    cluster: ScramKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = password_file(tmp_path, "secret")
    only = ("--mechanism", MECHANISMS[1], "--iterations", "8192")
    assert passwd(cluster, "carol", *given, *only) == 0
    assert passwd(cluster, "carol", *given) == 0
    line = f"Set the {MECHANISMS[1]} password of carol, 8192 iterations.\n"
    assert capsys.readouterr().out == line * 2


def test_kafka_takes_a_user_once_in_a_request(cluster: ScramKafka, tmp_path: Path) -> None:
    """So each mechanism is a request of its own."""
    passwd(cluster, "carol", *password_file(tmp_path, "secret"))
    properties = properties_mapping(parse_properties(cluster.settings().read_bytes()))
    settings, _ = librdkafka_settings(properties)
    client = AdminClient({**settings, "bootstrap.servers": cluster.kafka.bootstrap})
    both = [
        UserScramCredentialUpsertion("carol", ScramCredentialInfo(mechanism, 4096), b"secret")
        for mechanism in (ClientsMechanism.SCRAM_SHA_256, ClientsMechanism.SCRAM_SHA_512)
    ]
    with pytest.raises(KafkaException, match="DUPLICATE_RESOURCE"):
        client.alter_user_scram_credentials(both)["carol"].result(60)


def test_who_may_not_alter_sets_no_password(
    cluster: ScramKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = password_file(tmp_path, "secret")
    assert passwd(cluster, "carol", *given) == 0
    capsys.readouterr()
    settings = ("--command-config", str(cluster.settings("nobody")))
    assert main(["passwd", cluster.url, "carol", "--delete", "--yes", *settings]) == 2
    assert capsys.readouterr().err == (
        f"metalog: {cluster.url}: cannot change SCRAM users: User:nobody may not ALTER Cluster\n"
    )
    assert cluster.lets_in("carol", "secret")


def test_a_credential_is_the_one_that_kafka_derives(
    kafka_tools: KafkaTools, tmp_path: Path
) -> None:
    salt, iterations = b"as long as salts are:24!", 8192
    kafka = RealKafka(kafka_tools, tmp_path, {})
    credentials = [
        option
        for mechanism in MECHANISMS
        for option in (
            "--add-scram",
            f'{mechanism}=[name=dave,password=secret 1,salt="{b64encode(salt).decode()}",'
            f"iterations={iterations}]",
        )
    ]
    kafka_tools.storage("format", "-t", CLUSTER_ID, "-c", kafka.config, *credentials)
    found = [
        message
        for batch in DirectoryLog(kafka.log_dir).bootstrap() or ()
        for message in ([] if batch.is_control else batch.messages())
        if isinstance(message, UserScramCredentialRecord)
    ]
    config = ScramPasswordConfig.configured(
        {
            f"sasl.scram.password.change.{name}.iterations": str(iterations)
            for name in ("SHA256", "SHA512")
        }
    )
    request = ScramPasswordRequest(
        [ScramCredentials("dave", mechanism.value, "secret 1") for mechanism in ScramMechanism]
    )
    caller = Caller(is_encrypted=True, is_super_user=True)
    plan = plan_passwords(request, caller, config, None, lambda size: salt[:size])
    derived = {}
    for mechanism, change in plan.requests.items():
        [ours] = change.upsertions
        derived[mechanism.value] = credential_of(
            mechanism, ours.salted_password, ours.salt, ours.iterations
        )
    assert derived == {
        kept.mechanism: (kept.salt, kept.stored_key, kept.server_key, kept.iterations)
        for kept in found
    }
    assert len(derived) == len(found) == 2
