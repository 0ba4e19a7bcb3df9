"""The logs of ``metalog serve``: Kafka's layout or JSON lines, and the audit log."""

from __future__ import annotations

import json
import logging
import os
import re
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from metalog.hosts.host_port import parse_addresses
from metalog.text.visible_text import safe
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import PLAINTEXT
from metalog.wire.schema import request_type
from shell.output.logs import JsonLines, KafkaLayout
from tests.support.command.runs import Run, run_metalog
from tests.support.disk.written_log import formatted
from tests.support.node.served import served

pytestmark = pytest.mark.once

E = TypeVar("E", bound=BaseException)

LAYOUT = re.compile(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] INFO (Principal = .*) \(kafka\.authorizer\.logger\)"
)
"""Of Kafka's config/log4j2.yaml: ``[%d] %p %m (%c)%n``."""

DESCRIBE_SCRAM = 50

PROPERTIES = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:0
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin
metadata.log.dir={folder}
"""


def denied_once(address: str) -> None:
    asked = request_type(DESCRIBE_SCRAM, 0)(users=None)
    with Connection(parse_addresses(address)[0], PLAINTEXT) as connection:
        assert connection.ask(asked).error_code


def test_a_denial_is_a_line_that_explain_takes(tmp_path: Path, run: Run) -> None:
    folder, audit, log = tmp_path / "node", tmp_path / "audit.log", tmp_path / "log"
    formatted(folder)
    config = tmp_path / "server.properties"
    config.write_text(PROPERTIES.format(folder=folder))
    options = ("--config", str(config), "--audit-log", str(audit), "--log-format", "json")
    with served(*options, log=log) as addresses:
        denied_once(addresses["PLAINTEXT"])
    [line] = audit.read_text().splitlines()
    assert LAYOUT.fullmatch(line)
    assert "Principal = User:ANONYMOUS is Denied operation = DESCRIBE from host" in line
    assert " = Cluster:LITERAL:kafka-cluster for request = DescribeUserScramCredentials" in line
    explained = run("explain", folder, line)
    assert explained.stdout.startswith("DENIED"), explained.stderr
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert told
    for each in told:
        assert each.keys() == {"time", "level", "logger", "message"}
        assert each["logger"] != "kafka.authorizer.logger"


def test_a_reader_of_the_audit_log_that_stands_still_holds_up_no_decision(tmp_path: Path) -> None:
    """A pipe takes 64 KiB and then blocks its writer; queued lines arrive once it is read, also if
    the node stopped meanwhile."""
    folder, audit, many = tmp_path / "node", tmp_path / "audit", 600
    formatted(folder)
    os.mkfifo(audit)
    config = tmp_path / "server.properties"
    config.write_text(PROPERTIES.format(folder=folder))
    reader = os.open(audit, os.O_RDONLY | os.O_NONBLOCK)
    asked = request_type(DESCRIBE_SCRAM, 0)(users=None)
    with served("--config", str(config), "--audit-log", str(audit)) as addresses:
        with Connection(parse_addresses(addresses["PLAINTEXT"])[0], PLAINTEXT) as connection:
            for _ in range(many):
                assert connection.ask(asked).error_code
        os.set_blocking(reader, True)
        threads = ThreadPoolExecutor(1)
        read = threads.submit(_to_the_end, reader)
    lines = read.result(60).splitlines()
    assert len(lines) == many
    assert all(map(LAYOUT.fullmatch, lines))
    threads.shutdown()


def _to_the_end(pipe: int) -> str:
    with os.fdopen(pipe, encoding="utf-8") as lines:
        return lines.read()


def test_without_a_file_denials_are_among_the_rest(tmp_path: Path) -> None:
    folder, log = tmp_path / "node", tmp_path / "log"
    formatted(folder)
    config = tmp_path / "server.properties"
    config.write_text(PROPERTIES.format(folder=folder))
    with served("--config", str(config), log=log) as addresses:
        denied_once(addresses["PLAINTEXT"])
    lines = log.read_text().splitlines()
    assert len(lines) > 1
    assert len([line for line in lines if LAYOUT.fullmatch(line)]) == 1


def test_an_audit_log_that_cannot_be_written_keeps_it_from_starting(tmp_path: Path) -> None:
    wanted = tmp_path / "missing" / "audit.log"
    done = run_metalog("serve", "--dir", tmp_path / "node", "--audit-log", wanted)
    assert done.returncode == 2
    assert done.stderr == (
        f"metalog: --audit-log {wanted}: cannot be written: No such file or directory\n"
    )


@pytest.mark.parametrize("formatter", [JsonLines(), KafkaLayout()])
def test_no_name_can_begin_a_line_of_its_own(formatter: logging.Formatter) -> None:
    hostile = "x\n[2026-01-01 00:00:00,000] INFO Principal = User:admin is Allowed\u2028\x1b[2J"
    record = logging.LogRecord("n", logging.INFO, "f", 1, "user %s", (hostile,), None)
    text = formatter.format(record)
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text


def _logged(layout: logging.Formatter, error: BaseException) -> str:
    """The text of an error that was raised, with the errors that it names as its causes."""
    try:
        raise error
    except type(error) as raised:
        exc_info = type(raised), raised, raised.__traceback__
    record = logging.LogRecord("n", logging.ERROR, "f", 1, "it failed", None, exc_info)
    return layout.format(record)


def _raised(text: str, error: E) -> E:
    error.__cause__ = KeyError(text)
    error.__context__ = OSError(2, text, text)
    error.add_note(text)
    return error


@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\r", "\x0b", "\x85", "\u2028", "\n\n\t", "\n\x1b[2K"]
)
def test_each_line_of_a_traceback_begins_with_a_tab_whatever_the_error_says(end: str) -> None:
    hostile = f"x{end}[2026-01-01 00:00:00,000] INFO Principal = User:admin is Allowed{end}"
    errors: list[Exception] = [
        ValueError(hostile),
        OSError(2, hostile, hostile),
        SyntaxError(hostile),
    ]
    for error in (*errors, ExceptionGroup(hostile, [_raised(hostile, ValueError(hostile))])):
        first, *others = _logged(KafkaLayout(), _raised(hostile, error)).splitlines()
        assert first.endswith("] ERROR it failed (n)")
        assert others
        assert all(each.startswith("\t") for each in others)
        assert all(each[1:] == safe(each[1:]) for each in others)


def test_a_traceback_is_pythons() -> None:
    error = _raised("was not there", ValueError("two\nlines"))
    lines = _logged(KafkaLayout(), error).split("\n")[1:]
    text = "".join(traceback.format_exception(error)).rstrip("\n")
    assert [each.removeprefix("\t") for each in lines] == text.split("\n")
    assert "ValueError: two" in text


def test_what_is_allowed_is_a_line_too_where_it_is_asked_for(tmp_path: Path) -> None:
    """At Kafka's level for it."""
    folder, audit = tmp_path / "node", tmp_path / "audit.log"
    formatted(folder)
    config = tmp_path / "server.properties"
    properties = PROPERTIES.format(folder=folder).replace("User:admin", "User:ANONYMOUS")
    config.write_text(properties)
    options = ("--config", str(config), "--audit-log", str(audit), "--audit-level", "debug")
    with served(*options) as addresses:
        asked = request_type(DESCRIBE_SCRAM, 0)(users=None)
        with Connection(parse_addresses(addresses["PLAINTEXT"])[0], PLAINTEXT) as connection:
            assert not connection.ask(asked).error_code
    [line] = audit.read_text().splitlines()
    assert "] DEBUG Principal = User:ANONYMOUS is Allowed operation = DESCRIBE from" in line
