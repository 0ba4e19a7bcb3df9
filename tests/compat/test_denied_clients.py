"""Ten clients that a real Kafka denies, and the commands that ``explain`` prints for them. A shell
reads the printed lines unchanged; each command runs in the test's process for ``metalog`` or
Kafka's tool. Its input is what a person on call knows: the line in Kafka's log, and whether the
application reads or writes."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.support.command.runs import AS_USERS_START_IT, Run
from tests.support.kafka.scram import ADMIN, MECHANISM, PASSWORDS, ScramKafka
from tests.support.suite.waiting import eventually

pytestmark = [pytest.mark.xdist_group("real-kafka"), pytest.mark.once]

TOOLS: Final = ("kafka-acls", "metalog")
TOPIC: Final = "orders"
LIMIT_S: Final = 20.0
DENIED_LINES: Final = 4
"""The most lines of Kafka's log after which an application must work."""
QUIET: Final = {"log_level": "0", "error_cb": lambda _: None}
_REFUSED: Final = (KafkaException, SystemError)
"""The second is librdkafka's form of a fatal error within a call."""
_DENIED = re.compile(r"Principal = User:(.+?) is Denied .*")
NAMED_ODDLY: Final = 'CN=o\'neil,O=b $HOME "c"'
LONGEST: Final = "t" * 249
Settings = dict[str, Any]


class Application(NamedTuple):
    """An application: ``attempt`` works or raises; ``kind`` says that it reads or writes.
    ``granted`` are kafka-acls' options for its first ACLs, ``checklist`` those of the whole
    checklist. An idempotent producer's InitProducerId leaves no line in Kafka's log."""

    name: str
    attempt: Callable[[Settings, str], None]
    kind: str = ""
    granted: tuple[str, ...] = ()
    checklist: str = ""


def _consumed(settings: Settings, name: str, *, in_group: bool) -> None:
    client = Consumer(
        settings | {"group.id": f"group-{name}", "auto.offset.reset": "earliest", **QUIET}
    )
    try:
        if in_group:
            client.subscribe([TOPIC])
        else:
            client.assign([TopicPartition(TOPIC, 0, 0)])
        message = client.poll(LIMIT_S)
        if message is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        if message.error() is not None:
            raise KafkaException(message.error())
        if in_group:
            client.commit(message, asynchronous=False)
    finally:
        client.close()


def _assigned(settings: Settings, name: str) -> None:
    _consumed(settings, name, in_group=False)


def _grouped(settings: Settings, name: str) -> None:
    _consumed(settings, name, in_group=True)


def _produced(settings: Settings, _name: str) -> None:
    _send(Producer(settings | {"message.timeout.ms": "8000", **QUIET}))


def _produced_idempotent(settings: Settings, _name: str) -> None:
    more = {"enable.idempotence": "true", "message.timeout.ms": "8000", **QUIET}
    _send(Producer(settings | more))


def _transacted(settings: Settings, name: str) -> None:
    more = {"transactional.id": f"tx-{name}", "message.timeout.ms": "8000", **QUIET}
    client = Producer(settings | more)
    client.init_transactions(LIMIT_S)
    client.begin_transaction()
    _send(client)
    client.commit_transaction(LIMIT_S)


def _send(client: Producer, topic: str = TOPIC) -> None:
    failed = []
    client.produce(
        topic, b"x", on_delivery=lambda error, _: failed.append(error) if error else None
    )
    left = client.flush(LIMIT_S)
    if failed or left:
        raise KafkaException(failed[0] if failed else KafkaError(KafkaError._TIMED_OUT))


def _created(settings: Settings, _name: str) -> None:
    admin = AdminClient(settings | {**QUIET})
    [made] = admin.create_topics([NewTopic(f"made-{settings['client.id']}", 1, 1)]).values()
    made.result(LIMIT_S)


_LOOKS_UP: Final = ("--operation", "Describe", "--topic", TOPIC)
APPLICATIONS: Final = (
    Application("metadata-reader", _assigned, "reads"),
    Application("metadata-writer", _produced, "writes"),
    Application("fetcher", _assigned, "reads", _LOOKS_UP),
    Application("sender", _produced, "writes", _LOOKS_UP),
    Application("idempotent", _produced_idempotent, "", _LOOKS_UP, "--producer --topic orders"),
    Application("coordinated", _grouped, "reads", ("--operation", "Read", "--topic", TOPIC)),
    Application(
        "joiner", _grouped, "reads", ("--operation", "Describe", "--group", "group-joiner")
    ),
    Application("whole-consumer", _grouped, "", (), "--consumer --topic orders --group group-{}"),
    Application(
        "transactional", _transacted, "", (), "--producer --topic orders --transactional-id tx-{}"
    ),
    Application("creator", _created),
)


class Repair(NamedTuple):
    """Explains denials of one Kafka, and runs the printed commands."""

    kafka: ScramKafka
    folder: Path

    def denied_line(self, name: str, start: int) -> str:
        """The first line of the log from ``start`` on with a denial of ``name``."""

        def found() -> str:
            text = self.kafka.kafka.output.read_bytes()[start:].decode()
            lines = (match for match in map(_DENIED.search, text.splitlines()) if match)
            return next((match[0] for match in lines if match[1] == name), "")

        assert eventually(found)
        return found()

    def explain(self, run: Run, *question: str, source: str | Path = "") -> str:
        """The output of ``explain`` for the cluster itself, or for ``source``."""
        cluster = (self.kafka.url, "--command-config", self.kafka.settings())
        where = (source,) if source else cluster
        done = run("explain", *where, *question, "--super-users", f"User:{ADMIN}")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def carry_out(self, run: Run, commands: list[str]) -> None:
        assert commands
        for command in commands:
            tool, *words = self._words(command)
            if tool == "metalog":
                done = run(*words)
                assert done.returncode == 0, (command, done.stdout, done.stderr)
            else:
                self.kafka.kafka.tools.run("org.apache.kafka.tools.AclCommand", *words)

    def _words(self, command: str) -> list[str]:
        """The words that bash makes of a line: the tool's name and its arguments."""
        tools = self._tools("printing", dict.fromkeys(TOOLS, 'printf "%s\\0" "${0##*/}"'))
        done = subprocess.run(
            ["bash", "-c", command],
            env=self._environment(tools),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split("\0")[:-1]

    def run_as_script(self, commands: list[str]) -> None:
        """Runs a shell that reads ``commands`` from its standard input, like pasted text: a prompt
        would take the next line as its answer. The environment has the cluster's address."""
        settings = self.folder / "admin's client.properties"
        settings.write_bytes(self.kafka.settings().read_bytes())
        place = {"BOOTSTRAP": self.kafka.kafka.bootstrap, "CLIENT_CONFIG": str(settings)}
        java = self.kafka.kafka.tools.command("org.apache.kafka.tools.AclCommand")
        ours = [sys.executable, "-m", "shell.main"]
        starts = (f"exec {shlex.join(java)}", f"exec {shlex.join(ours)}")
        tools = self._tools("real", dict(zip(TOOLS, starts, strict=True)))
        done = subprocess.run(
            ["bash", "-e"],
            input="\n".join(commands),
            env=self._environment(tools) | place,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (commands, done.stdout, done.stderr)

    def _tools(self, kind: str, starts: Mapping[str, str]) -> Path:
        """A folder with a script of each tool's name."""
        folder = self.folder / kind
        if not folder.exists():
            folder.mkdir()
            for name, start in starts.items():
                (folder / name).write_text(f'#!/bin/sh\n{start} "$@"\n')
                (folder / name).chmod(0o755)
        return folder

    def _environment(self, tools: Path) -> dict[str, str]:
        """Puts ``kafka-acls`` and ``metalog`` on the path, as after an installation."""
        path = f"{tools}:{os.environ['PATH']}"
        home = {"HOME": str(self.folder), "LANG": "C.UTF-8", "COLUMNS": "100"}
        return {"PATH": path, **home, **AS_USERS_START_IT}


def _commands(printed: str, kind: str, tool: str) -> list[str]:
    """The commands for ``tool``, of the first remedy or of the one for an application that reads,
    or writes."""
    section = printed[printed.index("\nto allow") :]
    indent = len(section) - 1 - len(section.removeprefix("\nto allow").lstrip(" "))
    remedies = re.split(rf"\n {{{indent}}}(?! )", section)
    wanted = [each for each in remedies if f"if the client {kind}" in each] if kind else []
    if not wanted:
        wanted = [each for each in remedies if f" {tool} " in f" {each}"]
    lines = [line.strip() for line in wanted[0].splitlines()]
    return [line for line in lines if line.startswith(f"{tool} ")]


@pytest.fixture(scope="module")
def repair(scram_cluster: ScramKafka, tmp_path_factory: pytest.TempPathFactory) -> Repair:
    admin = AdminClient(_settings(scram_cluster, ADMIN))
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    upserted = admin.alter_user_scram_credentials(
        [
            UserScramCredentialUpsertion(name, credential, PASSWORDS["nobody"].encode())
            for name in (*(each.name for each in APPLICATIONS), NAMED_ODDLY)
        ]
    )
    for done in upserted.values():
        done.result(LIMIT_S)
    for made in admin.create_topics([NewTopic(each, 1, 1) for each in (TOPIC, LONGEST)]).values():
        made.result(LIMIT_S)
    _send(Producer(_settings(scram_cluster, ADMIN)))
    return Repair(scram_cluster, tmp_path_factory.mktemp("repair"))


def _settings(kafka: ScramKafka, user: str) -> Settings:
    return {
        "bootstrap.servers": kafka.kafka.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": MECHANISM,
        "sasl.username": user,
        "sasl.password": PASSWORDS.get(user, PASSWORDS["nobody"]),
        "client.id": f"{user}-{uuid.uuid4().hex[:6]}",
    }


def _without_acls(kafka: ScramKafka, user: str) -> Settings:
    """The user's settings, after an earlier run's ACLs are removed: they would hide its failure."""
    every = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{user}", None,
        AclOperation.ANY, AclPermissionType.ANY,
    )  # fmt: skip
    admin = AdminClient(_settings(kafka, ADMIN))
    admin.delete_acls([every])[every].result(LIMIT_S)
    return _settings(kafka, user)


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda each: each.name)
def test_a_denied_client_works_after_the_printed_commands(
    application: Application, repair: Repair, run: Run
) -> None:
    name, kafka = application.name, repair.kafka
    settings = _without_acls(kafka, name)
    if application.granted:
        kafka.kafka_acls("--add", "--allow-principal", f"User:{name}", *application.granted)
    tool = "kafka-acls" if name in ("metadata-reader", "whole-consumer") else "metalog kafka-acls"
    for repairs in range(DENIED_LINES):
        start = kafka.kafka.output.stat().st_size
        try:
            application.attempt(settings, name)
        except _REFUSED:
            pass
        else:
            assert repairs, "it was never denied"
            return
        if application.checklist:
            assert not repairs, "the checklist's commands were not all that it needed"
            words = application.checklist.format(name).split()
            printed = repair.explain(run, f"User:{name}", *words)
        else:
            printed = repair.explain(run, repair.denied_line(name, start))
        repair.carry_out(run, _commands(printed, application.kind, tool))
    pytest.fail(f"{name} is still denied:\n{printed}")


@pytest.mark.parametrize("by", ["kafka-acls", "metalog kafka-acls"])
def test_denials_of_a_folder_and_of_a_quorum_end_by_one_pasted_script(
    by: str, repair: Repair, run: Run
) -> None:
    """Two DENYs stand in the way, one of a host and one of a prefix; the removal of one must not
    read the command after it as its answer."""
    kafka, user = repair.kafka, f"User:{NAMED_ODDLY}"
    settings = _without_acls(kafka, NAMED_ODDLY) | {"message.timeout.ms": "8000", **QUIET}
    on_names = ("--topic", LONGEST[:200], "--resource-pattern-type", "prefixed")
    denies = ("--deny-principal", user, "--operation", "Write")
    kafka.kafka_acls("--add", *denies, *on_names)
    kafka.kafka_acls("--add", *denies, "--deny-host", "127.0.0.1", "--topic", LONGEST)
    allowed = ("--allow-principal", user, "--operation", "Describe", "--topic", LONGEST)
    kafka.kafka_acls("--add", *allowed)
    start = kafka.kafka.output.stat().st_size
    with pytest.raises(_REFUSED):
        _send(Producer(settings), LONGEST)
    line = repair.denied_line(NAMED_ODDLY, start)
    if by == "kafka-acls":
        printed = repair.explain(run, line, source=kafka.kafka.log_dir)
        assert "first: export BOOTSTRAP=HOST:PORT CLIENT_CONFIG=FILE" in printed
    else:
        printed = repair.explain(
            run, line, source=f"quorum://127.0.0.1:{kafka.kafka.controller_port}"
        )
        assert "$BOOTSTRAP" not in printed
        controllers = f"127.0.0.1:{kafka.kafka.controller_port}"
        by_cluster = repair.explain(run, line, source=f"cluster://{controllers}")
        assert f"  kafka-acls --bootstrap-controller {controllers} --add" in by_cluster
    commands = _commands(printed, "", by)
    assert [re.findall("--(?:add|remove)", each) for each in commands] == [
        ["--add"],
        ["--remove"],
        ["--remove"],
    ]
    repair.run_as_script(commands)
    _send(Producer(settings), LONGEST)
