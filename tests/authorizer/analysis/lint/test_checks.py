"""Each lint check on a case worked out by hand, and laws for the checks that call an ACL needless.
A case is a few lines of one ACL each; lint must find those behind ``!``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from authorizer.analysis.access import coverage
from authorizer.analysis.access.host_regions import is_matchable
from authorizer.analysis.cells.names import can_be_named
from authorizer.analysis.lint.checks import CHECKS, CheckResult, lint
from authorizer.analysis.lint.finding import (
    Check,
    CheckInput,
    Finding,
    LintNotes,
    LintSubject,
    Severity,
)
from authorizer.analysis.lint.unusual import HALVES, idle, redundant_acls
from authorizer.analysis.lint.without_effect import overridden
from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import Question, is_allow, trace
from metalog.acl import (
    SUPPORTED_OPERATIONS,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from shell.arguments.acl_line import parse_acl_line
from tests.support.kafka.cases import REPOSITORY
from tests.support.worlds import spec
from tests.support.worlds.small_world import CLIENTS, NAMES, OPERATIONS, PRINCIPALS
from tests.support.worlds.small_world import acls as small_acls

TODAY = date(2026, 11, 21)
BY_ID = {check.id: check for check in CHECKS}
ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "everyone": (
        """! ALLOW User:* Write topic:payments
        ! ALLOW User:* All group:g --host 10.0.0.1
        ! ALLOW User:* Read topic:payments
        ALLOW User:* Describe topic:* ; ALLOW User:* Read group:g
        ALLOW User:* IdempotentWrite cluster ; DENY User:* Write topic:audit""",
        {},
    ),
    "internal-topic": (
        """! ALLOW User:a Write topic:__consumer_offsets
        ! ALLOW User:a All topic:__ --prefixed
        ! ALLOW User:a Alter topic:__t --prefixed
        ALLOW User:a Read topic:__consumer_offsets ; ALLOW User:a Write topic:*
        DENY User:a Write topic:__consumer_offsets ; ALLOW User:a Write group:__consumer_offsets""",
        {},
    ),
    "super-user-like": (
        """! ALLOW User:a Alter cluster
        ! ALLOW User:a All cluster:*
        ! ALLOW User:a ClusterAction cluster
        ! ALLOW User:a CreateTokens user:*
        ALLOW User:a Describe cluster ; ALLOW User:a Alter topic:* ; DENY User:a Alter cluster
        ALLOW User:root Alter cluster ; ALLOW User:a CreateTokens user:User:b
        ALLOW User:a Alter cluster:other""",
        {"config": AuthorizerConfig(frozenset({"User:root"}))},
    ),
    "all-topics": (
        """! ALLOW User:a Write topic:*
        ! ALLOW User:a Read topic:*
        ALLOW User:* Write topic:* ; ALLOW User:a Write topic:w --prefixed
        DENY User:a Write topic:* ; ALLOW User:a Read group:*""",
        {},
    ),
    "deny-misses-star": (
        """! DENY User:a Read group:*
        DENY User:b Read group:* ; DENY User:a Read topic:* ; DENY User:a Write group:*
        ALLOW User:a Read group:*x --prefixed ; ALLOW User:b Read group:*""",
        {},
    ),
    "super-user-acl": (
        """! DENY User:root Write topic:audit
        ! ALLOW User:root All topic:*
        ALLOW User:a Write topic:audit""",
        {"config": AuthorizerConfig(frozenset({"User:root"}))},
    ),
    "host-form": (
        """! ALLOW User:a Read topic:t --host 10.0.0.0/8
        ! DENY User:a Read topic:t --host 10.0.0.*
        ! ALLOW User:a Read topic:t --host db.example.org
        ! ALLOW User:a Read topic:t --host ::1
        ! ALLOW User:a Read topic:t --host ' 10.0.0.1'
        ALLOW User:a Read topic:t --host 0:0:0:0:0:0:0:1
        ALLOW User:a Read topic:t --host 10.0.0.1 ; ALLOW User:a Read topic:t""",
        {},
    ),
    "principal-form": (
        """! ALLOW alice Read topic:t
        ! ALLOW user:alice Read topic:t
        ! DENY USER:* Read topic:t
        ! ALLOW 'User: alice' Read topic:t
        ! ALLOW User:team-* Read topic:t
        ! ALLOW Group:* Read topic:t
        ! ALLOW User: Read topic:t
        ALLOW User:* Read topic:t ; ALLOW User:a*b Read topic:t ; ALLOW Group:ops Read topic:t
        ALLOW 'User:CN=a, O=b' Read topic:t""",
        {},
    ),
    "principal-type": (
        """! ALLOW Group:ops Read topic:t
        ALLOW Group:ops Read topic:u ; ALLOW user:a Read topic:t ; ALLOW alice Read topic:t""",
        {},
    ),
    "star-in-name": (
        """! ALLOW User:a Read topic:pay*
        ! ALLOW User:a Read topic:pay* --prefixed
        ! ALLOW User:a Read topic:* --prefixed
        ! ALLOW User:a Read group:g-*
        ALLOW User:a Read topic:* ; ALLOW User:a Read topic:pay --prefixed
        ALLOW User:a Read group:a*b""",
        {},
    ),
    "impossible-topic": (
        f"""! ALLOW User:a Read 'topic:pay ments'
        ! ALLOW User:a Read topic:ümlaut --prefixed
        ! ALLOW User:a Read topic:..
        ! ALLOW User:a Read topic:{"x" * 250}
        ALLOW User:a Read topic:.. --prefixed ; ALLOW User:a Read 'group:pay ments'
        ALLOW User:a Read topic:A-z_0.9 ; ALLOW User:a Read topic:{"x" * 249}""",
        {},
    ),
    "cluster-name": (
        """! ALLOW User:a Alter cluster:prod
        ! ALLOW User:a Alter cluster:prod --prefixed
        ALLOW User:a Alter cluster ; ALLOW User:a Alter cluster:*
        ALLOW User:a Alter cluster:kafka --prefixed""",
        {},
    ),
    "operation": (
        """! ALLOW User:a Write group:g
        ! ALLOW User:a Read cluster
        ALLOW User:a All group:g ; ALLOW User:a Read group:g ; ALLOW User:a Alter cluster""",
        {},
    ),
    "overridden-allow": (
        """! ALLOW User:a Create topic:pay
        ! ALLOW User:a Read topic:pay --host 10.0.0.1
        ALLOW User:a Read topic:* ; ALLOW User:b Create topic:pay
        DENY User:a Create topic:pay ; DENY User:* Read topic:p --prefixed --host 10.0.0.1
        DENY User:a Describe topic:* --host 10.0.0.1""",
        {},
    ),
    "open-ended-prefix": (
        """! ALLOW User:a Read topic:pay --prefixed
        ! ALLOW User:a Read topic:orders --prefixed
        ALLOW User:a Read topic:payments. --prefixed ; ALLOW User:a Read topic:audit --prefixed
        ALLOW User:a Read topic:orders""",
        {"topics": ["payments", "payments.eu", "orders", "orders-eu", "audit-log"]},
    ),
    "bound-twice": (
        """! ALLOW User:a Read topic:t
        ALLOW User:a Write topic:t""",
        {"repetitions": {parse_acl_line("ALLOW User:a Read topic:t")[0]: 2}, "is_log": True},
    ),
    "unknown-topic": (
        """! ALLOW User:a Read topic:paymnets
        ! ALLOW User:a Read topic:gone
        ! ALLOW User:a Read topic:zz --prefixed
        ALLOW User:a Read topic:payments ; ALLOW User:a Read topic:pay --prefixed
        ALLOW User:a Read topic:* ; ALLOW User:a Read group:gone""",
        {"topics": ["payments", "audit"]},
    ),
    "principal-without-user": (
        """! ALLOW User:alise Read topic:t
        ! ALLOW User:zebra Read topic:t
        ALLOW User:alice Read topic:t ; ALLOW User:* Describe topic:t
        ALLOW User:CN=bob Read topic:t ; ALLOW User:ANONYMOUS Read topic:t""",
        {"users": {"alice"}},
    ),
    "idle-deny": (
        """! DENY User:contractor All topic:*
        ! DENY User:a Write topic:pay
        DENY User:a Read topic:p --prefixed ; ALLOW User:a Read topic:payments
        DENY User:* Describe topic:* ; ALLOW User:a Read group:pay""",
        {},
    ),
    "redundant": (
        """! ALLOW User:a Read topic:payments
        ! ALLOW User:b Read topic:pay --prefixed --host 10.0.0.1
        ! DENY User:a Write topic:audit --host 10.0.0.1
        ALLOW User:a All topic:pay --prefixed ; ALLOW User:b Read topic:*
        DENY User:* Write topic:a --prefixed
        ALLOW User:c Write topic:t ; ALLOW User:c Describe topic:t
        ALLOW User:d Read group:*x ; ALLOW User:d Read group:*""",
        {},
    ),
    "incomplete-client": (
        """! ALLOW User:reader Read topic:t
        ! ALLOW User:grouped Read group:g
        ! ALLOW User:transactor Write transactional-id:x
        ALLOW User:app Read topic:t ; ALLOW User:app Read group:g
        ALLOW User:app Write transactional-id:x ; ALLOW User:app Write topic:t""",
        {},
    ),
}


def worked(text: str) -> tuple[list[Acl], list[Acl]]:
    """All ACLs of a case, and those that lint must find."""
    known, wanted = [], []
    for line in re.split(r"\n|;", text):
        marked = line.strip().startswith("!")
        acls = parse_acl_line(line.strip().removeprefix("!"))
        known += acls
        wanted += acls if marked else []
    return known, wanted


def subject(acls: Iterable[Acl], **more: Any) -> LintSubject:
    return LintSubject(tuple(acls), more.pop("config", AuthorizerConfig()), TODAY, **more)


def found(check: Check, what: LintSubject) -> list[Finding]:
    [result] = lint(what, [check])
    assert result.found is not None
    return list(result.found)


@pytest.mark.parametrize("name", CASES)
def test_a_worked_case(name: str) -> None:
    text, more = CASES[name]
    acls, wanted = worked(text)
    findings = found(BY_ID[name], subject(acls, **more))
    assert {each.acl for each in findings} == set(wanted)
    assert len(findings) == len(wanted)


@pytest.mark.parametrize("name", CASES)
def test_what_a_finding_advises_ends_it(name: str) -> None:
    text, more = CASES[name]
    acls, _ = worked(text)
    for finding in found(BY_ID[name], subject(acls, **more)):
        if finding.remove or finding.add:
            mended = {each: None for each in [*acls, *finding.add] if each not in finding.remove}
            left = found(BY_ID[name], subject(mended, **{**more, "repetitions": {}}))
            assert finding.acl not in {each.acl for each in left}


def test_every_check_has_a_case_and_a_paragraph_in_the_guide() -> None:
    elsewhere = {"open-by-default", "user-without-acl", "unknown-code", "expired", "no-owner"}
    elsewhere |= {"owned-twice", "outside-owned"}
    assert set(BY_ID) == {*CASES, *elsewhere}
    guide = (REPOSITORY / "docs" / "guide" / "lint.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \|", guide, re.MULTILINE)
    assert sorted(listed) == sorted(BY_ID)


def test_what_is_open_by_default_is_said_once() -> None:
    assert found(BY_ID["open-by-default"], subject([])) == []
    [finding] = found(
        BY_ID["open-by-default"], subject([], config=AuthorizerConfig(allow_everyone=True))
    )
    assert finding.severity is WARNING


@pytest.mark.parametrize(
    ("lines", "safe"),
    [
        ("ALLOW User:root Read topic:secret", ()),
        ("ALLOW User:root Read topic:secret ; ALLOW User:root Write topic:secret", ()),
        ("ALLOW User:root Read topic:t ; ALLOW User:a Write topic:t", ("t",)),
        ("ALLOW User:root Read topic:t ; DENY User:a Write topic:*", ("t",)),
        ("ALLOW User:root Read topic:pay --prefixed ; ALLOW User:a Write topic:pay", ()),
        ("ALLOW User:* Write topic:t", ()),
        ("ALLOW User:root Read topic:t ; ALLOW User:* Write topic:t", ()),
        ("ALLOW User:a Read topic:a/b", ("a/b",)),
        ("ALLOW User:a Read topic:t ; ALLOW User:a All topic:*", ("t",)),
    ],
)
def test_no_removal_is_advised_that_lets_everyone_in(lines: str, safe: tuple[str, ...]) -> None:
    """Brute force: after all advised removals, nobody may do more than before."""
    acls, _ = worked(lines)
    config = AuthorizerConfig(frozenset({"User:root"}), allow_everyone=True)
    results = lint(subject(acls, config=config))
    removed = {acl for result in results for each in result.found or () for acl in each.remove}
    assert {acl.resource_name for acl in removed} == set(safe)
    for name, operation in product(
        ("secret", "t", "pay", "payx"), (Operation.READ, Operation.DELETE)
    ):
        question = Question("User:eve", operation, ResourceType.TOPIC, name, "10.0.0.1")
        left = [acl for acl in acls if acl not in removed]
        assert trace(left, config, question).allowed <= trace(acls, config, question).allowed


@pytest.mark.parametrize("kind", SUPPORTED_OPERATIONS)
def test_no_advice_opens_a_name_with_or_without_its_replacements(kind: ResourceType) -> None:
    random = Random(kind)
    stems = ["a", "a*", "*", "**", "*a", "kafka-", "kafka-cluster"]
    names = [name for stem in stems for name in (stem, f"{stem}x") if can_be_named(kind, name)]
    config = AuthorizerConfig(frozenset({"User:root"}), allow_everyone=True)
    for _ in range(150):
        acls = [
            Acl(
                kind,
                random.choice(stems),
                random.choice([PatternType.LITERAL, PatternType.PREFIXED]),
                random.choice(["User:a", "User:root", "User:*"]),
                random.choice(["*", "::1"]),
                random.choice([Operation.ALL, Operation.ALTER, Operation.DESCRIBE]),
                random.choice([PermissionType.ALLOW, PermissionType.DENY]),
            )
            for _ in range(random.randrange(1, 6))
        ]
        results = lint(subject(dict.fromkeys(acls), config=config))
        findings = [each for result in results for each in result.found or ()]
        for applied in (findings, [each for each in findings if not each.add]):
            left = set(acls).difference(*(each.remove for each in applied))
            left.update(*(each.add for each in applied))
            for name in names:
                was, is_now = (
                    any(spec.reaches(acl, kind, name) for acl in each) for each in (acls, left)
                )
                assert was <= is_now, (name, acls)


def test_users_that_no_acl_names() -> None:
    acls = parse_acl_line("ALLOW User:alice Read topic:t")
    config = AuthorizerConfig(frozenset({"User:root"}))
    what = subject(acls, users={"alice", "bob", "root"}, config=config)
    assert [each.name for each in found(BY_ID["user-without-acl"], what)] == ["User:bob"]


def test_codes_that_kafka_does_not_know() -> None:
    [acl] = parse_acl_line("DENY User:a Read topic:t")
    odd = [
        acl._replace(operation=Operation.UNKNOWN),
        acl._replace(permission_type=PermissionType.UNKNOWN),
        acl._replace(pattern_type=PatternType.UNKNOWN),
        acl._replace(resource_type=ResourceType.UNKNOWN),
    ]
    findings = found(BY_ID["unknown-code"], subject([acl, *odd]))
    assert [each.acl for each in findings] == odd


def test_one_deny_or_several_override_an_allow() -> None:
    messages = {}
    for deny in ("All", "Read,Describe"):
        acls = parse_acl_line("ALLOW User:a Read topic:t")
        acls += parse_acl_line(f"DENY User:a {deny} topic:t")
        [finding] = found(BY_ID["overridden-allow"], subject(acls))
        messages[deny] = finding.message
    assert messages == {
        "All": "a DENY overrides all of it",
        "Read,Describe": "several DENYs, such as this one, override all of it",
    }


def test_an_acl_expires_at_the_end_of_its_day() -> None:
    texts = ["2026-11-20", "2026-11-21", "2026-11-20T23:59:59Z", "2026-11-21T00:30:00+02:00", None]
    [acl] = parse_acl_line("ALLOW User:a Read topic:t")
    notes = {acl._replace(resource_name=str(text)): LintNotes("team", text) for text in texts}
    expired = found(BY_ID["expired"], subject(notes, notes=notes))
    assert [each.acl.resource_name for each in expired if each.acl] == [
        "2026-11-20",
        "2026-11-20T23:59:59Z",
        "2026-11-21T00:30:00+02:00",
    ]


def test_an_acl_needs_an_owner_where_notes_can_be_written() -> None:
    owned, nobodys = parse_acl_line("ALLOW User:a Read,Write topic:t")
    notes = {owned: LintNotes("team"), nobodys: LintNotes()}
    assert [each.acl for each in found(BY_ID["no-owner"], subject(notes, notes=notes))] == [nobodys]


def test_a_check_without_what_it_needs_is_left_out() -> None:
    acls = parse_acl_line("ALLOW User:a Read topic:t")
    left_out = {result.check.needs for result in lint(subject(acls)) if result.found is None}
    assert left_out == {
        CheckInput.TOPICS,
        CheckInput.USERS,
        CheckInput.NOTES,
        CheckInput.OWNS,
        CheckInput.SUPER_USERS,
    }
    closed = CheckResult(BY_ID["idle-deny"], None)
    assert closed in lint(subject(acls, config=AuthorizerConfig(allow_everyone=True)))


@pytest.mark.parametrize("task", HALVES)
def test_both_halves_are_needed_for_the_task(task: Any) -> None:
    asked = {
        (permission.operation, permission.resource_type)
        for step in task
        for permission in step.need.one_of
    }
    for half in HALVES[task]:
        assert {half.one, half.other} <= asked


QUESTIONS = list(
    product(
        [each for each in PRINCIPALS if each != "User:*"],
        CLIENTS,
        [each for each in OPERATIONS if each is not Operation.ALL],
        [*NAMES, "", "aab", "*ab"],
    )
)
several = st.lists(
    small_acls.map(lambda acl: acl._replace(resource_type=ResourceType.TOPIC)), max_size=8
).map(lambda acls: tuple(dict.fromkeys(acls)))


def answers(acls: Iterable[Acl], kafka: KafkaVersion, default: bool = False) -> list[object]:
    known = list(acls)
    return [
        spec.decide(
            known, ({who}, host), operation, ResourceType.TOPIC, name, default, kafka
        ).result
        for who, host, operation, name in QUESTIONS
    ]


@pytest.fixture(scope="module", params=[0, coverage.FEW], ids=["looked up", "looked through"])
def few(request: pytest.FixtureRequest) -> Iterator[None]:
    before = coverage.FEW
    coverage.FEW = request.param
    yield
    coverage.FEW = before


(ALLOW_ALL,) = parse_acl_line("ALLOW User:a Write topic:*")
(DENY_ALL,) = parse_acl_line("DENY User:a Write topic:*")
(ALLOW_A,) = parse_acl_line("ALLOW User:a Write topic:a --prefixed")
ALLOW_EVERY_PREFIX, DENY_EVERY_PREFIX = (
    acl._replace(resource_name="", pattern_type=PatternType.PREFIXED)
    for acl in (ALLOW_ALL, DENY_ALL)
)


def by_type(acls: Iterable[Acl], kafka: KafkaVersion, default: bool) -> list[object]:
    return [
        spec.is_allowed_by_resource_type(
            list(acls), ({who}, host), operation, ResourceType.TOPIC, default, kafka
        )
        for who, host, operation, _ in QUESTIONS
    ]


@pytest.mark.usefixtures("few")
@settings(max_examples=40)
@given(several, st.booleans(), st.sampled_from(KafkaVersion))
@example((ALLOW_ALL, DENY_ALL, DENY_EVERY_PREFIX), False, KafkaVersion.V4_3)
@example((ALLOW_ALL, ALLOW_EVERY_PREFIX, DENY_EVERY_PREFIX), False, KafkaVersion.V4_3)
@example((ALLOW_A, ALLOW_A._replace(pattern_type=PatternType.UNKNOWN)), False, KafkaVersion.V4_3)
@example(
    (ALLOW_ALL, DENY_ALL, DENY_ALL._replace(permission_type=PermissionType.UNKNOWN)),
    False,
    KafkaVersion.V4_4,
)
def test_without_the_redundant_every_answer_is_the_same(
    acls: tuple[Acl, ...], default: bool, kafka: KafkaVersion
) -> None:
    needless = {acl for acl, _ in redundant_acls(acls, kafka)}
    assert by_type(set(acls) - needless, kafka, default) == by_type(acls, kafka, default)
    needless |= {acl for acl, _ in overridden(acls, kafka)}
    if needless:
        assert answers(set(acls) - needless, kafka, default) == answers(acls, kafka, default)


@settings(max_examples=40)
@given(several, st.sampled_from(KafkaVersion))
def test_a_deny_is_idle_if_no_request_meets_it_and_an_allow(
    acls: tuple[Acl, ...], kafka: KafkaVersion
) -> None:
    needless = set(idle(acls, kafka))
    for deny in acls:
        if is_allow(deny):
            continue
        meets = any(
            spec.reaches(deny, ResourceType.TOPIC, name)
            and spec.matches(deny, ({who}, host), operation, kafka)
            and answers_one(acls, kafka, (who, host, operation, name))
            for who, host, operation, name in QUESTIONS
        )
        assert not (meets and deny in needless)
        if all(acl.host == "*" or is_matchable(acl.host, kafka) for acl in acls):
            assert meets is (deny not in needless)
    assert answers(set(acls) - needless, kafka) == answers(acls, kafka)


def answers_one(
    acls: Iterable[Acl], kafka: KafkaVersion, question: tuple[str, str, Operation, str]
) -> bool:
    who, host, operation, name = question
    allows = [acl for acl in acls if is_allow(acl)]
    decided = spec.decide(allows, ({who}, host), operation, ResourceType.TOPIC, name, False, kafka)
    return bool(decided.result)
