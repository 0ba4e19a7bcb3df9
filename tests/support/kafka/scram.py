"""A real Kafka whose clients log in by SASL SCRAM, and client settings for it.

This module must not know the code under test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import NamedTuple

from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from tests.support.kafka.tools import KafkaTools, RealKafka

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISM = MECHANISMS[0]
"""The mechanism of the first users."""
ADMIN, READER, NOBODY = "admin", "reader", "nobody"
PASSWORDS = {ADMIN: "adm;in-1", READER: "reader-1", NOBODY: "nobody-1"}
LOGIN_LIMIT_S = 60.0
JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule required"


class ScramKafka(NamedTuple):
    """``kafka`` has the super user ``admin``, and two users without any permission."""

    kafka: RealKafka
    folder: Path

    @property
    def url(self) -> str:
        return f"cluster://{self.kafka.bootstrap}"

    def settings(
        self, user: str = ADMIN, password: str | None = None, mechanism: str = MECHANISM
    ) -> Path:
        """A file for ``--command-config``."""
        path = self.folder / f"{user}.properties"
        text = (
            "security.protocol=SASL_PLAINTEXT\n"
            f"sasl.mechanism={mechanism}\n"
            f"sasl.jaas.config={jaas(user, password or PASSWORDS[user])}\n"
        )
        path.write_text("".join(map(_escaped, text)), encoding="ascii")
        return path

    def lets_in(self, user: str, password: str, mechanism: str = MECHANISM) -> bool:
        """Whether librdkafka can log in with these."""
        refused = Event()

        def note(error: KafkaError) -> None:
            if error.code() == KafkaError._AUTHENTICATION:
                refused.set()

        client = AdminClient(
            {
                "bootstrap.servers": self.kafka.bootstrap,
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanisms": mechanism,
                "sasl.username": user,
                "sasl.password": password,
                "error_cb": note,
                "log_level": 0,
            }
        )
        answer = client.describe_cluster(request_timeout=LOGIN_LIMIT_S)
        while not answer.done() and not refused.is_set():
            client.poll(0.05)
        if answer.done():
            answer.result()
        return not refused.is_set()

    def kafka_acls(self, *arguments: str, settings: Path | None = None) -> str:
        """Run Kafka's own kafka-acls, by default as admin."""
        return self.kafka.tools.run(
            "org.apache.kafka.tools.AclCommand",
            "--bootstrap-server", self.kafka.bootstrap,
            "--command-config", settings or self.settings(),
            *arguments,
        )  # fmt: skip


def jaas(user: str, password: str) -> str:
    """The JAAS text as a value in a .properties file, where a backslash is doubled."""
    quoted = password.replace("\\", "\\\\").replace('"', '\\\\"')
    return f'{JAAS} username="{user}" password="{quoted}";'


def _escaped(letter: str) -> str:
    """The letter as a .properties file writes it, in Latin-1."""
    return letter if letter.isascii() else f"\\u{ord(letter):04x}"


@contextmanager
def scram_kafka(tools: KafkaTools, folder: Path) -> Iterator[ScramKafka]:
    overrides = {
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        **{
            f"listener.name.client.{mechanism.lower()}.sasl.jaas.config": jaas(
                ADMIN, PASSWORDS[ADMIN]
            )
            for mechanism in MECHANISMS
        },
        "super.users": f"User:ANONYMOUS;User:{ADMIN}",
    }
    formatted = [
        option
        for user, password in PASSWORDS.items()
        for option in ("--add-scram", f"{MECHANISM}=[name={user},password={password}]")
    ]
    with RealKafka.started(tools, folder, overrides=overrides, format_options=formatted) as kafka:
        yield ScramKafka(kafka, folder)
