"""A real Kafka whose clients log in by SASL SCRAM, and the client's settings for it.

This module must not know the code under test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kafka_tools import KafkaTools, RealKafka

MECHANISM = "SCRAM-SHA-256"
ADMIN, READER, NOBODY = "admin", "reader", "nobody"
PASSWORDS = {ADMIN: "adm;in-1", READER: "reader-1", NOBODY: "nobody-1"}
JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule required"


class ScramKafka(NamedTuple):
    """``kafka`` has ``admin``, a super user, and two who may do nothing yet."""

    kafka: RealKafka
    folder: Path

    @property
    def url(self) -> str:
        return f"cluster://{self.kafka.bootstrap}"

    def settings(self, user: str = ADMIN, password: str | None = None) -> Path:
        """A file for ``--command-config``."""
        path = self.folder / f"{user}.properties"
        path.write_text(
            "security.protocol=SASL_PLAINTEXT\n"
            f"sasl.mechanism={MECHANISM}\n"
            f"sasl.jaas.config={jaas(user, password or PASSWORDS[user])}\n"
        )
        return path

    def kafka_acls(self, *arguments: str) -> str:
        """Kafka's own kafka-acls, run as admin."""
        return self.kafka.tools.run(
            "org.apache.kafka.tools.AclCommand",
            *("--bootstrap-server", self.kafka.bootstrap),
            *("--command-config", self.settings()),
            *arguments,
        )


def jaas(user: str, password: str) -> str:
    """As a value in a .properties file, where a backslash is written twice."""
    quoted = password.replace("\\", "\\\\").replace('"', '\\\\"')
    return f'{JAAS} username="{user}" password="{quoted}";'


@contextmanager
def scram_kafka(tools: KafkaTools, folder: Path) -> Iterator[ScramKafka]:
    overrides = {
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": MECHANISM,
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        f"listener.name.client.{MECHANISM.lower()}.sasl.jaas.config": jaas(ADMIN, PASSWORDS[ADMIN]),
        "super.users": f"User:ANONYMOUS;User:{ADMIN}",
    }
    formatted = [
        option
        for user, password in PASSWORDS.items()
        for option in ("--add-scram", f"{MECHANISM}=[name={user},password={password}]")
    ]
    with RealKafka.started(tools, folder, overrides=overrides, format_options=formatted) as kafka:
        yield ScramKafka(kafka, folder)
