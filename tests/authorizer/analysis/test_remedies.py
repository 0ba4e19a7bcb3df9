"""A remedy reverses the answer, gives no more than it must, and says where it gives more."""

from __future__ import annotations

import pytest

from authorizer.analysis.explain.explain import explain
from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import Attribute, Question, reaches, trace
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from tests.support.worlds.small_world import NAMES, for_many_worlds

CLOSED = AuthorizerConfig(frozenset(), False)
OPEN = AuthorizerConfig(frozenset(), True)
ASKED = Question("User:a", Operation.READ, ResourceType.TOPIC, "payments", "10.0.0.1")
GRANT = Acl(
    ResourceType.TOPIC,
    "payments",
    PatternType.LITERAL,
    "User:a",
    "10.0.0.1",
    Operation.READ,
    PermissionType.ALLOW,
)


@for_many_worlds
def test_every_remedy_turns_the_answer(acls, config, question):
    explanation = explain(acls, config, question)
    for remedy in explanation.remedies:
        assert set(remedy.remove) <= set(acls)
        changed = (set(acls) - set(remedy.remove)) | set(remedy.add)
        assert trace(changed, config, question).allowed is not explanation.trace.allowed


@for_many_worlds
def test_whoever_loses_by_the_default_rule_is_spoken_of(acls, config, question):
    """A name's first ACL locks out everyone whom allow.everyone.if.no.acl.found admitted."""
    kind = question.resource_type
    for remedy in explain(acls, config, question).remedies:
        names = {*NAMES, *(f"{acl.resource_name}~" for acl in remedy.add)}
        first = [
            name
            for name in names
            if any(reaches(acl, kind, name) for acl in remedy.add)
            and not any(reaches(acl, kind, name) for acl in acls)
        ]
        assert remedy.ends_default is (config.allow_everyone and bool(first))


@for_many_worlds
def test_a_denied_question_always_has_a_remedy_and_a_super_user_never(acls, config, question):
    explanation = explain(acls, config, question)
    assert bool(explanation.remedies) is (explanation.trace.decision.rule != "SuperUser")


@for_many_worlds
def test_no_remedy_adds_more_than_a_narrow_acl(acls, config, question):
    for remedy in explain(acls, config, question).remedies:
        for acl in remedy.add:
            assert acl.principal == question.principal
            assert acl.operation is not Operation.ALL
            assert (acl.resource_name, acl.pattern_type) != ("*", PatternType.LITERAL)


@for_many_worlds
def test_adding_without_widening_is_adding_what_was_asked(acls, config, question):
    for remedy in explain(acls, config, question).remedies:
        if remedy.widens:
            continue
        removed = () if remedy.mends else remedy.remove
        for acl in remedy.add + removed:
            assert acl.principal == question.principal
            assert acl.host == (question.host or "*")
            assert acl.operation is question.operation
            assert (acl.resource_name, acl.pattern_type) == (
                question.resource_name,
                PatternType.LITERAL,
            )


def test_where_nothing_matches_the_very_grant_comes_first_and_then_any_host():
    first, second = explain([], CLOSED, ASKED).remedies
    assert (first.add, first.remove, first.widens) == ((GRANT,), (), ())
    assert (second.add, second.widens) == ((GRANT._replace(host="*"),), (Attribute.HOST,))


def test_a_deny_is_removed_and_it_is_said_that_it_meant_more():
    deny = GRANT._replace(
        principal="User:*", operation=Operation.ALL, permission_type=PermissionType.DENY
    )
    [remedy] = explain([GRANT, deny], CLOSED, ASKED).remedies
    assert (remedy.remove, remedy.add) == ((deny,), ())
    assert remedy.widens == (Attribute.PRINCIPAL, Attribute.OPERATION)


def test_beside_a_deny_that_goes_the_narrow_grant_comes_first():
    deny = GRANT._replace(host="*", permission_type=PermissionType.DENY)
    first, second = explain([deny], CLOSED, ASKED).remedies
    assert (first.add, second.add) == ((GRANT,), (GRANT._replace(host="*"),))


def test_the_last_acl_of_a_resource_is_not_removed_without_a_grant_beside_it():
    """With allow.everyone.if.no.acl.found, a bare removal would open the resource to everyone."""
    deny = GRANT._replace(permission_type=PermissionType.DENY)
    for remedy in explain([deny], OPEN, ASKED).remedies:
        assert remedy.add


def test_it_is_said_where_a_removal_may_leave_other_names_to_everybody():
    wide = GRANT._replace(resource_name="pay", pattern_type=PatternType.PREFIXED)
    other = GRANT._replace(principal="User:b")
    everything = (Attribute.PRINCIPAL, Attribute.HOST, Attribute.OPERATION, Attribute.PATTERN)

    def widens(acls: list[Acl], config: AuthorizerConfig) -> tuple[Attribute, ...]:
        [removal] = [each for each in explain(acls, config, ASKED).remedies if each.remove]
        return removal.widens

    assert widens([wide, other], OPEN) == everything
    assert widens([wide, other], CLOSED) == (Attribute.PATTERN,)
    beside, above = wide._replace(principal="User:b"), other._replace(resource_name="p")
    assert widens([wide, beside], OPEN) == (Attribute.PATTERN,)
    assert widens([wide, above._replace(pattern_type=PatternType.PREFIXED)], OPEN) == (
        Attribute.PATTERN,
    )
    wildcard = GRANT._replace(resource_name="*")
    assert widens([wildcard, other], OPEN) == everything


def test_a_first_acl_ends_the_default_for_everybody_else():
    for remedy in explain([], OPEN, ASKED).remedies:
        assert remedy.ends_default


def test_under_the_default_rule_a_remedy_that_shuts_others_out_comes_last():
    literal = GRANT._replace(resource_name="pay*", host="*")
    other = GRANT._replace(principal="User:b")
    remedies = explain([literal, other], OPEN, ASKED).remedies
    assert [remedy.ends_default for remedy in remedies] == [False, False, True]
    assert remedies[-1].mends
    assert not any(remedy.ends_default for remedy in explain([literal], CLOSED, ASKED).remedies)


@pytest.mark.parametrize(
    ("request_name", "uses"),
    [
        ("Metadata", [Operation.READ, Operation.WRITE]),
        ("DeleteTopics", [Operation.DELETE]),
        ("DescribeTransactions", []),
    ],
)
def test_what_a_look_up_is_for_depends_on_the_request(request_name, uses):
    """DeleteTopics asks for DESCRIBE and then for DELETE, which implies it; READ would not help."""
    look_up = ASKED._replace(operation=Operation.DESCRIBE)
    remedies = explain([], CLOSED, look_up, request=request_name).remedies
    assert [remedy.use for remedy in remedies if remedy.use] == uses


def test_after_a_look_up_comes_what_it_was_for():
    """READ and WRITE imply DESCRIBE; a client with DESCRIBE alone would be denied next."""
    look_up = ASKED._replace(operation=Operation.DESCRIBE)
    remedies = explain([], CLOSED, look_up).remedies
    assert [remedy.use for remedy in remedies] == [Operation.READ, Operation.WRITE, None, None]
    operations = [remedy.add[0].operation.name for remedy in remedies]
    assert operations == ["READ", "WRITE", "DESCRIBE", "DESCRIBE"]
    in_group = look_up._replace(resource_type=ResourceType.GROUP)
    assert explain([], CLOSED, in_group).remedies[0].use is Operation.READ
    deny = GRANT._replace(permission_type=PermissionType.DENY)
    remedies = explain([deny], CLOSED, look_up).remedies
    assert Operation.READ not in [remedy.use for remedy in remedies]


@for_many_worlds
def test_what_is_allowed_after_a_look_up_is_allowed(acls, config, question):
    look_up = question._replace(operation=Operation.DESCRIBE)
    for remedy in explain(acls, config, look_up).remedies:
        if remedy.use is not None:
            changed = (set(acls) - set(remedy.remove)) | set(remedy.add)
            if remedy.mends is None:
                assert trace(changed, config, look_up._replace(operation=remedy.use)).allowed


@pytest.mark.parametrize("operation", [Operation.ALTER, Operation.CLUSTER_ACTION])
def test_what_makes_a_super_user_says_so(operation):
    question = Question("User:a", operation, ResourceType.CLUSTER, "kafka-cluster")
    [remedy] = explain([], CLOSED, question).remedies
    assert remedy.powers


def test_a_deny_that_holds_back_a_super_users_right_is_not_removed_in_silence():
    """Removing a DENY gives as much as adding an ALLOW: the ALLOW under it comes into force."""
    on_cluster = GRANT._replace(
        resource_type=ResourceType.CLUSTER, resource_name="kafka-cluster", host="*"
    )
    allow = on_cluster._replace(operation=Operation.ALL)
    deny = allow._replace(permission_type=PermissionType.DENY)
    asked = Question("User:a", Operation.DESCRIBE, ResourceType.CLUSTER, "kafka-cluster")
    [remedy] = explain([allow, deny], CLOSED, asked).remedies
    assert remedy.remove == (deny,)
    assert len(remedy.powers) == 3
    narrow = on_cluster._replace(operation=Operation.DESCRIBE)
    [remedy] = explain([narrow, deny], CLOSED, asked).remedies
    assert remedy.powers == ()


def test_changing_kafkas_own_topics_says_so_and_comes_last():
    asked = ASKED._replace(operation=Operation.WRITE, resource_name="__consumer_offsets")
    assert all(remedy.powers for remedy in explain([], CLOSED, asked).remedies)
    literal = GRANT._replace(operation=Operation.WRITE, resource_name="__*", host="*")
    other = asked._replace(resource_name="__mine")
    remedies = explain([literal], CLOSED, other).remedies
    assert [bool(remedy.powers) for remedy in remedies] == [False, False, True]
    assert remedies[-1].mends


@for_many_worlds
def test_what_makes_a_super_user_never_comes_before_what_does_not(acls, config, question):
    powers = [bool(remedy.powers) for remedy in explain(acls, config, question).remedies]
    assert powers == sorted(powers)


def test_a_grant_for_a_host_that_java_spells_otherwise_is_replaced():
    spelled = GRANT._replace(host="::1")
    question = ASKED._replace(host="0:0:0:0:0:0:0:1")
    mended = [each for each in explain([spelled], CLOSED, question).remedies if each.mends]
    [remedy] = mended
    assert remedy.mends.kind is NearMissKind.HOST_TEXT
    assert remedy.remove == (spelled,)
    assert remedy.add == (spelled._replace(host="0:0:0:0:0:0:0:1"),)


def test_a_grant_for_one_host_is_not_mended_to_one_for_all():
    spelled = GRANT._replace(host="::1")
    explanation = explain([spelled], CLOSED, ASKED._replace(host=None))
    assert [remedy for remedy in explanation.remedies if remedy.mends] == []


def test_no_remedy_names_a_host_that_no_client_can_have():
    misspelt = GRANT._replace(host="broker2.example.com")
    remedies = explain([misspelt], CLOSED, ASKED._replace(host="broker1.example.com")).remedies
    assert [acl.host for remedy in remedies for acl in remedy.add] == ["*"]


def test_a_literal_name_that_was_meant_as_a_prefix_is_offered_as_one():
    literal = GRANT._replace(resource_name="pay*", host="*")
    [remedy] = [each for each in explain([literal], CLOSED, ASKED).remedies if each.mends]
    assert remedy.add == (literal._replace(resource_name="pay", pattern_type=PatternType.PREFIXED),)
    assert Attribute.PATTERN in remedy.widens


@pytest.mark.parametrize(
    "question",
    [
        ASKED._replace(principal="User:*"),
        ASKED._replace(principal="nobody"),
        ASKED._replace(operation=Operation.ALL),
    ],
)
def test_where_no_narrow_grant_exists_none_is_made_up(question):
    assert explain([], CLOSED, question).remedies == ()


def test_a_resource_called_star_is_not_granted_as_the_wildcard():
    remedy = explain([], CLOSED, ASKED._replace(resource_name="*")).remedies[0]
    assert remedy.add[0].pattern_type is PatternType.PREFIXED
    assert Attribute.PATTERN in remedy.widens


NEWER = CLOSED._replace(kafka_version=KafkaVersion.V4_4)
IPV6 = "2001:db8:0:0:0:0:0:1"


@pytest.mark.parametrize(
    ("named", "operation", "client", "offered"),
    [
        pytest.param(["10.0.0.0/8"], "WRITE", "10.0.0.1", ["10.0.0.0/8"], id="holds the client"),
        pytest.param(["10.0.0.0/8", "10.0.0.0/24"], "WRITE", "10.0.0.1", ["10.0.0.0/24"], id="two"),
        pytest.param(["10.0.0.0/9"], "READ", "10.128.0.1", ["10.128.0.0/9"], id="one bit off"),
        pytest.param(["2001:db8:1::/48"], "READ", IPV6, ["2001:db8::/48"], id="one bit off, IPv6"),
        pytest.param(["::8000:0/97"], "READ", "0:0:0:0:0:0:0:1", ["::/97"], id="a low address"),
        pytest.param(["11.0.0.0/8"], "WRITE", "10.0.0.1", [], id="holds others"),
        pytest.param(["0.0.0.0/8"], "WRITE", "0.0.0.0", [], id="Kafka finds 0.0.0.0 in no block"),
        pytest.param(["10.0.0.0/33"], "WRITE", "10.0.0.1", [], id="not a block"),
    ],
)
def test_a_block_that_an_acl_names_may_be_granted_and_nothing_wider(
    named: list[str], operation: str, client: str, offered: list[str]
) -> None:
    """Only where 4.4 decides, and where its metadata.version allows the creation of blocks
    (KIP-1276)."""
    acls = [GRANT._replace(host=host, operation=Operation[operation]) for host in named]
    question = ASKED._replace(host=client)

    def blocks(config: AuthorizerConfig, creates_blocks: bool) -> list[Acl]:
        found = explain(acls, config, question, creates_blocks=creates_blocks).remedies
        return [acl for remedy in found for acl in remedy.add if "/" in acl.host]

    assert blocks(NEWER, True) == [GRANT._replace(host=host) for host in offered]
    assert blocks(NEWER, False) == blocks(CLOSED, True) == []
