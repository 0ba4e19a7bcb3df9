"""A real Kafka that ran a moment ago and was stopped, and what its own tools say of its log.

This module must not know the code under test.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.support.kafka.case_maker import make_case
from tests.support.kafka.cases import KafkaCase
from tests.support.kafka.tools import KafkaTools, RealKafka

FIRST, GONE, STAYS = "kafkas-first", "gone", "stays"
"""An ACL's topic and two users, which are there at the end."""
USERS = (
    "--add-scram", f"SCRAM-SHA-256=[name={GONE},password=gone-secret]",
    "--add-scram", f"SCRAM-SHA-256=[name={STAYS},password=stays-secret]",
)  # fmt: skip


class MadeNow(NamedTuple):
    """``case`` has a copy of the folder of ``kafka``, which can be started again."""

    case: KafkaCase
    kafka: RealKafka


def made_now(tools: KafkaTools, folder: Path) -> MadeNow:
    kafka = make_case(tools, folder / "kafka", folder / "case", _story, format_options=USERS)
    case = KafkaCase("made-now", folder / "case" / "log-dir", folder / "case" / "expected")
    return MadeNow(case, kafka)


def add_first(kafka: RealKafka) -> None:
    kafka.acls(
        "--add", "--allow-principal", "User:k", "--operation", "READ",
        "--topic", FIRST, "--topic", "kafkas-second",
    )  # fmt: skip


def _story(kafka: RealKafka) -> None:
    """ACLs are added, one is removed again, and a user's password changes."""
    add_first(kafka)
    kafka.acls(
        "--add", "--allow-principal", "User:app", "--consumer", "--group", "app",
        "--topic", "payments", "--resource-pattern-type", "prefixed",
    )  # fmt: skip
    kafka.acls(
        "--add", "--deny-principal", "User:app", "--operation", "Read",
        "--topic", "payments-internal", "--deny-host", "10.0.0.7",
    )  # fmt: skip
    kafka.acls(
        "--remove", "--force", "--allow-principal", "User:app", "--operation", "Describe",
        "--topic", "payments", "--resource-pattern-type", "prefixed",
    )  # fmt: skip
    kafka.configs(
        "--alter", "--entity-type", "users", "--entity-name", STAYS,
        "--add-config", "SCRAM-SHA-512=[iterations=8192,password=made-up]",
    )  # fmt: skip
