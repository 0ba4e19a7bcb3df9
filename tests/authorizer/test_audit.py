"""Audit lines of every Kafka version, and hostile names in them."""

from __future__ import annotations

import gzip
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authorizer import Action, Operation, RequestContext, ResourceType, topic
from authorizer.audit.line import format_line, parse_line, read_row, row_of
from authorizer.engine.decide import ALLOWED, DENIED, DENIED_BY_DEFAULT, Decision
from metalog.errors import InvalidRequest
from tests.support.kafka.cases import FIXTURES
from tests.support.worlds.small_acls import deny

ACL = deny("pay", principal="User:CN=app, OU=eu", prefixed=True)
KAFKA_4 = (
    "Principal = User:CN=app, OU=eu is Denied operation = READ from host = 10.0.0.1"
    " on resource = Topic:LITERAL:payments for request = Fetch with resourceRefCount = 1"
    " based on rule MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=pay,"
    " patternType=PREFIXED, principal=User:CN=app, OU=eu, host=*, operation=READ,"
    " permissionType=DENY])"
)
KAFKA_3 = KAFKA_4.replace("[", "(").replace("]", ")")
ACL_AUTHORIZER = (
    "Principal = User:CN=app, OU=eu is Denied Operation = DescribeConfigs from host = 10.0.0.1"
    " on resource = TransactionalId:LITERAL:my tx for request = Produce with resourceRefCount = 2"
)
SIMPLE_ACL_AUTHORIZER = (
    "Principal = User:bob is Allowed Operation = ClusterAction from host = 10.0.0.1"
    " on resource = Cluster:LITERAL:kafka-cluster"
)
KAFKA_0_9 = (
    "Principal = User:bob is Allowed Operation = Read from host = 10.0.0.1"
    " on resource = Topic:payments"
)


def test_the_line_of_4_is_read_and_written() -> None:
    line = parse_line(KAFKA_4)
    assert line[:10] == (
        "User:CN=app, OU=eu",
        DENIED,
        Operation.READ,
        "10.0.0.1",
        ResourceType.TOPIC,
        "payments",
        "Fetch",
        1,
        "MatchingAcl",
        ACL,
    )
    assert not line.ambiguous
    context = RequestContext(line.principal, line.host, request_name="Fetch")
    action = Action(Operation.READ, topic("payments"))
    assert format_line(context, action, Decision(DENIED, "MatchingAcl", ACL)) == KAFKA_4


def test_lines_of_earlier_kafkas_are_read() -> None:
    assert parse_line(KAFKA_3) == parse_line(KAFKA_4)
    line = parse_line(ACL_AUTHORIZER)
    assert line.operation is Operation.DESCRIBE_CONFIGS
    assert line.resource_type is ResourceType.TRANSACTIONAL_ID
    assert (line.resource_name, line.request_name, line.rule) == ("my tx", "Produce", None)
    line = parse_line(SIMPLE_ACL_AUTHORIZER)
    assert (line.result, line.operation) == (ALLOWED, Operation.CLUSTER_ACTION)
    assert (line.resource_name, line.request_name) == ("kafka-cluster", None)
    assert parse_line(KAFKA_0_9).resource_name == "payments"


@pytest.mark.parametrize("line", [KAFKA_4, KAFKA_3, ACL_AUTHORIZER, SIMPLE_ACL_AUTHORIZER])
@pytest.mark.parametrize(
    "prefix",
    [
        "[2026-11-21 18:35:36,123] INFO ",
        "2026-11-21T18:35:36.123Z broker-1 kafka[99]: INFO [authorizer] ",
        "\tkafka_1  | ",
    ],
)
@pytest.mark.parametrize("suffix", ["", " (kafka.authorizer.logger)", "\n", "\r\n"])
def test_what_a_log_puts_around_a_line_is_left_out(line: str, prefix: str, suffix: str) -> None:
    assert parse_line(prefix + line + suffix) == parse_line(line)


@pytest.mark.parametrize(
    "line", [KAFKA_4, KAFKA_3, KAFKA_4.split("MatchingAcl")[0] + "DefaultDeny"]
)
@pytest.mark.parametrize("suffix", ['"', '"}', "  ", " thread=17", " (kafka.authorizer.logger) x"])
def test_what_follows_a_line_never_gets_into_a_name(line: str, suffix: str) -> None:
    assert parse_line(line + suffix) == parse_line(line)


def test_what_follows_a_line_of_2_4_may_be_a_part_of_a_name() -> None:
    line = parse_line(ACL_AUTHORIZER + ' "')
    assert line.ambiguous
    assert line._replace(ambiguous=False) == parse_line(ACL_AUTHORIZER)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not an audit line of Kafka"),
        ("Principal = User:a", "broken audit line: after 'Principal = ' it has no"),
        ("nothing of the kind", "not an audit line of Kafka"),
        (KAFKA_4.replace("READ from", "REED from"), "operation REED is unknown"),
        (KAFKA_4.replace("Topic:", "Tpoic:"), "resource type Tpoic is unknown"),
        (KAFKA_4.replace("Topic:LITERAL:", "Topic:"), "no pattern type"),
    ],
)
def test_other_lines_are_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        parse_line(text)


def test_a_count_of_no_kafka_is_no_count() -> None:
    line = parse_line(KAFKA_4.replace("Count = 1", "Count = " + "1" * 5_000))
    assert line.resource_reference_count is None


def test_an_unknown_operation_of_the_acl_does_not_hide_the_line() -> None:
    line = parse_line(KAFKA_4.replace("operation=READ", "operation=LEVITATE"))
    assert (line.rule, line.acl, line.is_cut) == ("MatchingAcl", None, False)


@pytest.mark.parametrize("key", ["operation", "permissionType"])
def test_an_acl_with_kafkas_word_unknown_is_read(key: str) -> None:
    line = parse_line(re.sub(f"{key}=[A-Z]+", f"{key}=UNKNOWN", KAFKA_4))
    assert line.acl is not None
    assert not line.is_cut
    assert [line.acl.operation, line.acl.permission_type].count(0) == 1


def test_a_cut_line_is_the_same_as_a_row() -> None:
    for end in range(KAFKA_4.index(" with"), len(KAFKA_4)):
        line = parse_line(KAFKA_4[:end])
        assert read_row(KAFKA_4[:end]) == row_of(line)
        assert line.is_cut is not KAFKA_4[:end].rstrip().endswith("Count = 1")


@pytest.mark.parametrize(
    "text",
    [
        KAFKA_4.replace("Topic:LITERAL:payments", f"Topic:LITERAL:x {KAFKA_4}"),
        KAFKA_4.replace(
            "User:CN=app, OU=eu is",
            "User:a is Allowed operation = READ from host ="
            " 1.1.1.1 on resource = Topic:LITERAL:b is",
            1,
        ),
        KAFKA_4.replace(":payments", ":p" + KAFKA_4[KAFKA_4.index(" for request") :]),
    ],
)
def test_what_could_be_read_in_two_ways_is_flagged(text: str) -> None:
    assert parse_line(text).ambiguous


@pytest.mark.parametrize("more", [0, 1, 14, 15, 16, 17, 5_000])
@pytest.mark.parametrize("verdict", ["Denied operation = Q", "Allowed operation = READ"])
@pytest.mark.parametrize("kind", ["Q:", "Topic:LITERAL:"])
def test_who_forges_a_verdict_is_flagged_however_many_follow(
    verdict: str, more: int, kind: str
) -> None:
    """A limit on the tried readings must not hide Kafka's own verdict."""
    forged = " is Allowed operation = READ from host = 1.1.1.1 on resource = Topic:LITERAL:x"
    hidden = f" is {verdict} from host = h on resource = {kind}" * more
    for place in "User:CN=app, OU=eu is", ":payments", "resourceName=pay":
        line = KAFKA_4.replace(place, f"User:e{forged}{hidden}{place}", 1)
        if place == ":payments":
            line = KAFKA_4.replace(place, f":p{forged}{hidden}", 1)
        assert parse_line(line).ambiguous
        assert read_row(line).ambiguous


def test_a_name_cannot_forge_a_line() -> None:
    hostile = "a\r\nb\v\f\0\x85\u2028\u2029\tc"
    context = RequestContext(f"User:{hostile}", "1.1.1.1", request_name="Fetch")
    line = format_line(context, Action(Operation.READ, topic(hostile)), DENIED_BY_DEFAULT)
    assert line.splitlines() == [line]
    assert "a\\r\\nb\\u000b\\f\\u0000\\u0085\\u2028\\u2029\tc" in line


@pytest.mark.parametrize("code", [*range(0x09), *range(0x0A, 0x20), *range(0x7F, 0xA0)])
def test_a_name_cannot_steer_a_terminal_or_end_a_line(code: int) -> None:
    context = RequestContext("User:a", "1.1.1.1", request_name="Fetch")
    line = format_line(context, Action(Operation.READ, topic(chr(code))), DENIED_BY_DEFAULT)
    assert line.isprintable()


def test_a_line_can_be_encoded_whatever_the_name() -> None:
    context = RequestContext("User:\udfff", "1.1.1.1", request_name="Fetch")
    line = format_line(context, Action(Operation.READ, topic("\ud800")), DENIED_BY_DEFAULT)
    assert b"User:\\udfff" in line.encode()
    assert b"LITERAL:\\ud800" in line.encode()


def test_a_name_cannot_make_reading_a_line_slow() -> None:
    verdict = " is Allowed operation = READ from host = x on resource = Topic:"
    tail = KAFKA_4[KAFKA_4.index(" for request") : KAFKA_4.index("StandardAcl")]
    for nameless in (verdict * 2_000 + tail * 2_000, (verdict + tail) * 2_000):
        with pytest.raises(InvalidRequest, match="no pattern type"):
            parse_line("Principal = User:a" + nameless)
        assert parse_line(KAFKA_4.replace(":payments", ":" + nameless)).ambiguous


LINES = (KAFKA_4, KAFKA_3, ACL_AUTHORIZER, SIMPLE_ACL_AUTHORIZER, KAFKA_0_9)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    "suffix", ["", "\r", " (kafka.authorizer.logger)", " (x) y = z", "\n" + KAFKA_4]
)
def test_a_row_is_what_the_line_says(line: str, suffix: str) -> None:
    assert read_row(line + suffix) == row_of(parse_line(line + suffix))


def test_a_row_has_kafkas_names() -> None:
    assert read_row(ACL_AUTHORIZER) == (
        "User:CN=app, OU=eu",
        "10.0.0.1",
        "DESCRIBE_CONFIGS",
        "TRANSACTIONAL_ID",
        "my tx",
        "LITERAL",
        "Produce",
        2,
        "DENIED",
        None,
        False,
    )


def test_what_kafka_3_9_wrote_is_what_it_was_asked() -> None:
    """The questions are those of tests/fixtures/make/AuditLines.java, in its order."""
    principals = "app", "CN=app, OU=My Company,C=DE", "a is Allowed operation = READ"
    names = "payments", "my group", "x for request = Fetch with resourceRefCount = 1"
    log = gzip.decompress((FIXTURES / "audit" / "acl-authorizer-3.9.log.gz").read_bytes()).decode()
    lines = [parse_line(line) for line in log.splitlines() if "Principal = " in line]
    asked = [
        (
            f"User:{principals[(operation % 3 + kind) % 3]}",
            ALLOWED if operation % 3 == 0 else DENIED,
            operation,
            "10.0.0.1",
            kind,
            names[operation % 3],
            "Fetch",
            operation % 3 + 1,
        )
        for kind in list(ResourceType)[2:]
        for operation in list(Operation)[2 : Operation.TWO_PHASE_COMMIT]
    ]
    assert [line[:8] for line in lines[:-1]] == asked
    assert lines[-1].request_name == "9999"


PIECES = [
    " = ",
    " is Allowed operation = READ",
    " is Denied Operation = Nix",
    " from host = 1.1.1.1",
    " on resource = Topic:LITERAL:",
    " on resource = Topic:",
    "PREFIXED:",
    " for request = Fetch",
    " with resourceRefCount = 1",
    " with resourceRefCount = 12345678901",
    " based on rule ",
    "SuperUser",
    "DefaultDeny",
    "MatchingAcl",
    "(acl=",
    "Principal = ",
    "User:a",
    " ",
    "=",
    "\r",
    KAFKA_4,
    ACL_AUTHORIZER.removeprefix("Principal = "),
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=12).map("".join))
def test_the_fast_way_to_a_row_is_the_careful_one(text: str) -> None:
    for line in (f"Principal = {text}", KAFKA_4.replace("payments", text)):
        try:
            careful = row_of(parse_line(line))
        except InvalidRequest:
            with pytest.raises(InvalidRequest):
                read_row(line)
        else:
            assert read_row(line) == careful


@given(st.text(), st.text(), st.text("0123456789abcdef.:", min_size=1))
def test_whatever_is_written_is_read_the_same_or_flagged(
    principal: str, name: str, host: str
) -> None:
    context = RequestContext(f"User:{principal}", host, request_name="Fetch")
    text = format_line(context, Action(Operation.READ, topic(name)), DENIED_BY_DEFAULT)
    line = parse_line(text)
    assert (
        line.ambiguous
        or format_line(
            RequestContext(line.principal, line.host, request_name="Fetch"),
            Action(line.operation, topic(line.resource_name)),
            DENIED_BY_DEFAULT,
        )
        == text
    )
