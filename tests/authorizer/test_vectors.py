"""Compares every answer that Kafka gave: result, rule, ACL, audit line with level, and listing
order. Each scenario is read once for all tests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from authorizer import AuthorizerConfig, Operation, ResourceType, StandardAuthorizer
from authorizer.audit.line import LOGGER, TRACE, parse_line, read_row, row_of
from authorizer.kafka_version import KafkaVersion
from metalog.errors import AuthorizerNotReady
from metalog.ids import parse_uuid
from tests.support.kafka.vectors import (
    ASKED,
    Acls,
    Scenario,
    cidr_scenarios,
    read_acls,
    read_action,
    read_context,
    read_filter,
    scenarios,
)
from tests.support.worlds import spec

Line = dict[str, Any]
LEVELS = {"INFO": logging.INFO, "DEBUG": logging.DEBUG, "TRACE": TRACE}
NOT_READY = "AUTHORIZER_NOT_READY"


class AuditLog(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, int]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.getMessage(), record.levelno))

    def taken(self) -> tuple[str | None, int | None]:
        taken, self.lines = self.lines, []
        return taken[0] if taken else (None, None)


@pytest.fixture
def audit_log() -> Iterator[AuditLog]:
    logger, handler = logging.getLogger(LOGGER), AuditLog()
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before[0])
    logger.propagate = before[1]


@pytest.mark.smoke
@pytest.mark.parametrize(("kafka", "family"), ASKED)
def test_answers_are_kafkas(
    kafka: KafkaVersion, family: str, audit_log: AuditLog, figure: Callable[[str, int], None]
) -> None:
    """The specification gives the same answers, and each audit line is read as a whole."""
    compared, different = _compared(kafka, scenarios(family, kafka), audit_log)
    figure("decisions", compared)
    figure("decisions-that-differ", len(different))
    print(f"{family} of {kafka.value}: {compared} compared, {len(different)} different")
    assert compared
    assert not different


@pytest.mark.parametrize("kafka", KafkaVersion)
def test_answers_about_blocks_are_each_versions_own(
    kafka: KafkaVersion, audit_log: AuditLog, figure: Callable[[str, int], None]
) -> None:
    compared, different = _compared(kafka, cidr_scenarios(kafka), audit_log)
    figure("decisions", compared)
    figure("decisions-that-differ", len(different))
    assert compared
    assert not different


def test_the_new_version_answers_old_questions_otherwise_where_kafka_does(
    audit_log: AuditLog,
) -> None:
    """Only in ``hosts``, where texts that look like blocks matched nothing before."""
    compared, different = _compared(KafkaVersion.V4_4, scenarios("hosts"), audit_log)
    if compared == 7_676:
        assert len(different) == 262
    assert different


def _compared(
    kafka: KafkaVersion, asked: Iterable[Scenario], audit_log: AuditLog
) -> tuple[int, list[Line]]:
    compared, different = 0, []
    for header, lines in asked:
        logging.getLogger(LOGGER).setLevel(LEVELS[header["auditLogLevel"]])
        acls = Acls(header)
        authorizer = _loaded(header, acls, kafka)
        for line in lines:
            if "step" in line:
                _change(authorizer, line)
                acls.change(line)
                continue
            compared += 1
            if _answer(authorizer, line, audit_log) != _expected(line, acls):
                different.append(line)
                continue
            if line.get("rule") != "SuperUser" and line.get("result") != NOT_READY:
                _hold_spec_against(line, header, acls, kafka)
            if line.get("audit"):
                _hold_parser_against(line, acls)
    return compared, different


def _loaded(header: Line, acls: Acls, kafka: KafkaVersion) -> StandardAuthorizer:
    super_users = frozenset(header["superUsers"])
    config = AuthorizerConfig(super_users, header["allowEveryone"], kafka_version=kafka)
    authorizer = StandardAuthorizer(config)
    if header["load"] == "loadSnapshot":
        authorizer.load_snapshot(acls.by_id)
    else:
        for uuid, acl in acls.by_id.items():
            authorizer.add_acl(uuid, acl)
    if header["ready"]:
        authorizer.complete_initial_load()
    return authorizer


def _change(authorizer: StandardAuthorizer, line: Line) -> None:
    match line["step"]:
        case "add":
            for uuid, acl in read_acls([line["acl"]]).items():
                authorizer.add_acl(uuid, acl)
        case "remove":
            authorizer.remove_acl(parse_uuid(line["id"]))
        case "loadSnapshot":
            authorizer.load_snapshot(read_acls(line["acls"]))
        case "completeInitialLoad":
            authorizer.complete_initial_load()


def _answer(authorizer: StandardAuthorizer, line: Line, audit_log: AuditLog) -> tuple[Any, ...]:
    if line.get("op") == "acls":
        return (authorizer.acls(read_filter(line["filter"])),)
    context = read_context(line)
    if "op" in line:
        kind, operation = ResourceType[line["resourceType"]], Operation[line["operation"]]
        result = authorizer.authorize_by_resource_type(context, operation, kind)
        return result.name, audit_log.taken()[0]
    action = read_action(line)
    try:
        [result] = authorizer.authorize(context, [action])
    except AuthorizerNotReady:
        return NOT_READY, None, None, audit_log.taken()
    decision = authorizer.decide(context, action)
    assert decision.result is result
    return result.name, decision.rule, decision.acl, audit_log.taken()


def _expected(line: Line, acls: Acls) -> tuple[Any, ...]:
    if line.get("op") == "acls":
        return (tuple(acls.named(uuid) for uuid in line["ids"]),)
    if "op" in line:
        return line["result"], line["audit"]
    level = LEVELS[line["auditLevel"]] if line["audit"] else None
    return line["result"], line["rule"], acls.named(line["aclId"]), (line["audit"], level)


def _hold_spec_against(line: Line, header: Line, acls: Acls, kafka: KafkaVersion) -> None:
    if line.get("op") == "acls" or line["principal"] in header["superUsers"]:
        return
    who = {line["principal"]}, line["host"]
    kind, operation = ResourceType[line["resourceType"]], Operation[line["operation"]]
    listed, default = list(acls.by_id.values()), header["allowEveryone"]
    if "op" in line:
        allowed = spec.is_allowed_by_resource_type(listed, who, operation, kind, default, kafka)
        assert allowed == (line["result"] == "ALLOWED"), line
        return
    decision = spec.decide(listed, who, operation, kind, line["resourceName"], default, kafka)
    assert decision == (decision.result, line["rule"], acls.named(line["aclId"])), line
    assert decision.result.name == line["result"], line


def _hold_parser_against(line: Line, acls: Acls) -> None:
    read = parse_line(line["audit"])
    assert not read.ambiguous, line
    assert read_row(line["audit"]) == row_of(read)
    assert read[:5] == (
        line["principal"],
        read.result,
        Operation[line["operation"]],
        line["host"],
        ResourceType[line["resourceType"]],
    )
    assert read.resource_name == line.get("resourceName", "hardcode")
    assert read.request_name == line["requestName"]
    assert read.resource_reference_count == line.get("refCount", 0)
    if "op" not in line:
        assert read.result.name == line["result"]
        assert (read.rule, read.acl) == (line["rule"], acls.named(line["aclId"]))
