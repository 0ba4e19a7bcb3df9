"""The cache of one session: what it answers is what the ACLs say, and what it keeps is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from sys import getsizeof

import pytest

from authorizer import Acl, AuthorizerConfig, Operation, PatternType, PermissionType, ResourceType
from authorizer.answers import results_of
from authorizer.api import Action, ResourcePattern
from authorizer.engine.buckets import SOME_LIMIT, FewAcls
from authorizer.engine.cache import invalidation
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.cache.invalidation import without_matched
from authorizer.engine.cache.remembered import (
    ADMISSION_THRESHOLD,
    CHARACTER_BYTES,
    ENTRY_BYTES,
    RememberedSessions,
)
from authorizer.engine.cache.session_cache import (
    LONGEST_CACHED,
    NAMES_BEFORE_PREFIXES,
    TYPE_BYTES,
    SessionAnswers,
    SessionBasis,
    SessionCache,
    bytes_of,
)
from authorizer.engine.decide import (
    ALL_OPERATIONS,
    ALLOWED,
    ALLOWS,
    DENIES,
    VERDICTS,
    subject,
    verdicts_of,
)
from authorizer.engine.index import AclIndex, IndexWriter
from authorizer.engine.resource_acls import ResourceAcls
from authorizer.kafka_version import KafkaVersion
from metalog.errors import InvalidRequest
from metalog.ids import Uuid

TOPIC = ResourceType.TOPIC
APP = ("10.0.0.1", "User:app")
READ, WRITE = Operation.READ, Operation.WRITE
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
LONGEST = "n" * LONGEST_CACHED


def _acl(
    name: str,
    pattern_type: PatternType = LITERAL,
    operation: Operation = READ,
    permission: PermissionType = PermissionType.ALLOW,
) -> Acl:
    return Acl(TOPIC, name, pattern_type, "User:app", "*", operation, permission)


PAY = _acl("pay")


def _answers(
    *acls: Acl, default: bool = False, is_super_user: bool = False
) -> tuple[SessionAnswers, RememberedSessions[SessionAnswers]]:
    kept = RememberedSessions[SessionAnswers]()
    basis = SessionBasis(AclIndex.of(list(acls)), default, KafkaVersion.V4_3, kept)
    return SessionAnswers(basis, APP, 0, is_super_user=is_super_user), kept


def _counted(kept: RememberedSessions[SessionAnswers], ask: Callable[[], object]) -> list[int]:
    before = kept._entries, kept._bytes
    ask()
    return [kept._entries - before[0], kept._bytes - before[1]]


def _entry(name: str) -> int:
    return ENTRY_BYTES + CHARACTER_BYTES * len(name)


def test_a_mask_has_one_shared_tuple() -> None:
    assert verdicts_of(ALLOWS[READ]) is verdicts_of(ALLOWS[READ])


@pytest.mark.parametrize("default", [False, True])
def test_masks_are_those_of_the_acls_and_the_default_rule(default: bool) -> None:
    denied = _acl("pa", PREFIXED, WRITE, PermissionType.DENY)
    cache = _answers(PAY, denied, default=default)[0].of_type(TOPIC)
    assert cache.masks_on("pay") == (ALLOWS[READ], DENIES[WRITE])
    assert cache.masks_on("pax") == (0, DENIES[WRITE])
    assert cache.masks_on("other") == (ALL_OPERATIONS if default else 0, 0)


def test_each_entry_is_counted_with_its_text() -> None:
    nested = [_acl("p", PREFIXED), _acl("po", PREFIXED)]
    answers, kept = _answers(PAY, *nested)
    hosts = ("*", APP[0])
    opened = _counted(kept, lambda: answers.of_type(TOPIC))
    assert opened == [1, TYPE_BYTES + getsizeof(hosts)]
    assert _counted(kept, lambda: answers.of_type(TOPIC)) == [0, 0]
    assert _counted(kept, lambda: answers.on(TOPIC, "px")) == [2, ENTRY_BYTES + _entry("px")]
    assert _counted(kept, lambda: answers.on(TOPIC, "pox")) == [2, ENTRY_BYTES + _entry("pox")]
    assert _counted(kept, lambda: answers.on(TOPIC, "poxy")) == [1, _entry("poxy")]
    found = answers.on(TOPIC, "pay")
    remembered = _counted(kept, lambda: answers.remember(TOPIC, "same", found))
    assert remembered == [1, _entry("same")]
    assert answers.verdicts[TOPIC] == dict.fromkeys(("px", "pox", "poxy", "pay", "same"), found)


def test_what_all_sessions_share_is_counted_once() -> None:
    prefixed = [_acl("ot", PREFIXED), _acl("o", PREFIXED), _acl("p", PREFIXED)]
    index = AclIndex.of([PAY, *prefixed])
    for name, key in (("pay", "pay"), ("other", "ot")):
        context = DecisionContext(index, AuthorizerConfig(), shut_by="")
        kept, known = context._remembered, context._acls_by_name[TOPIC]
        buckets = index.buckets_matching(TOPIC, name)
        first = _counted(
            kept, lambda name=name, context=context: context.uncached(APP, TOPIC, name)
        )
        texts_and_list = getsizeof(buckets) + getsizeof(name)
        assert first[0] == 1
        assert texts_and_list < first[1] < ENTRY_BYTES + 1.3 * texts_and_list
        assert [getattr(each, "name", each) for each in known] == [key]
        combined = ResourceAcls(buckets, is_default_allow=False).size
        second = _counted(
            kept, lambda name=name, context=context: context.uncached(APP, TOPIC, name)
        )
        assert second == [0, combined]
        assert _counted(kept, lambda name=name, c=context: c.uncached(APP, TOPIC, name)) == [0, 0]
        longer = _counted(kept, lambda name=name, c=context: c.uncached(APP, TOPIC, f"{name}s"))
        assert longer == [0, 0]
        assert _counted(kept, lambda context=context: context.session(APP)) == [0, bytes_of(APP)]


def test_a_longer_name_than_a_topics_is_not_cached() -> None:
    for name, is_kept in [(LONGEST, True), (LONGEST + "n", False)]:
        answers, _ = _answers(PAY)
        answers.on(TOPIC, name)
        assert (name in answers.verdicts[TOPIC]) is is_kept
        answers, _ = _answers(PAY)
        answers.remember(TOPIC, name, verdicts_of(0))
        assert (name in answers.verdicts[TOPIC]) is is_kept
        context = DecisionContext(AclIndex.of([_acl(name)]), AuthorizerConfig(), shut_by="")
        for _ in range(3):
            context.uncached(APP, TOPIC, name)
        assert (name in context._acls_by_name[TOPIC]) is is_kept


def test_a_name_without_acls_of_its_own_leaves_no_entry_of_its_own() -> None:
    index = AclIndex.of([_acl("p", PREFIXED), _acl("q", PREFIXED), _acl("qu", PREFIXED)])
    context = DecisionContext(index, AuthorizerConfig(), shut_by="")
    for number in range(100):
        for start in ("p", "qu", ""):
            context.uncached(APP, TOPIC, f"{start}{number}")
    known = context._acls_by_name[TOPIC]
    assert [key and getattr(key, "name", key) for key in known] == ["qu", None]


@pytest.mark.parametrize(
    "changed",
    [
        _acl("p", PREFIXED, permission=PermissionType.DENY),
        _acl("", PREFIXED, permission=PermissionType.DENY),
        _acl("pa", PREFIXED, permission=PermissionType.DENY),
        _acl("pay", permission=PermissionType.DENY),
        _acl("*", permission=PermissionType.DENY),
    ],
)
def test_the_only_acl_of_a_prefix_decides_until_another_one_matches(changed: Acl) -> None:
    writer, ids = IndexWriter(), (Uuid(bytes(16)), Uuid(b"1" * 16))
    writer.load([_acl("p", PREFIXED)])
    for change in ({}, {ids[1]: changed}, {ids[1]: None}):
        writer.apply(change, {ids[1]: changed} if None in change.values() else {})
        context = DecisionContext(writer.index, AuthorizerConfig(), shut_by="")
        expected = writer.index.decide(subject(*APP, kafka=KafkaVersion.V4_3), READ, TOPIC, "pay")
        assert context.uncached(APP, TOPIC, "pay")[READ] is expected.result
        assert context.session(APP).on(TOPIC, "pay")[READ] is expected.result


def test_few_acls_of_named_principals_are_not_combined() -> None:
    for acl, kind in ((PAY, FewAcls), (PAY._replace(principal="User:*"), ResourceAcls)):
        context = DecisionContext(AclIndex.of([acl]), AuthorizerConfig(), shut_by="")
        for _ in range(2):
            context.uncached(APP, TOPIC, "pay")
        assert type(context._acls_by_name[TOPIC]["pay"]) is kind


def test_many_names_are_decided_as_each_alone() -> None:
    acls = [PAY, _acl("p", PREFIXED), _acl("*")._replace(permission_type=PermissionType.DENY)]
    names = ["pay", "pays", "o", "*", "*x", "", LONGEST + "n", "pay"]
    for stored in (acls, acls[:2], acls[:1], []):
        for allow_everyone in (False, True):
            config = AuthorizerConfig(allow_everyone=allow_everyone)
            context = DecisionContext(AclIndex.of(stored), config, shut_by="")
            cache = context.session_cache(TOPIC, APP)
            cache.add_all(names)
            expected = {name: verdicts_of(cache.allowed_on(name)) for name in names[:-2]}
            assert cache.verdicts == expected


@pytest.mark.parametrize("stored", [PAY, _acl("pay", PREFIXED)])
def test_one_entry_serves_all_names_that_no_pattern_begins_with(stored: Acl) -> None:
    answers, kept = _answers(stored)
    for number in range(NAMES_BEFORE_PREFIXES):
        answers.on(TOPIC, f"{number:04}")
    assert len(answers.verdicts[TOPIC]) == NAMES_BEFORE_PREFIXES
    assert _counted(kept, lambda: answers.on(TOPIC, "othe")) == [1, _entry("othe")]
    assert _counted(kept, lambda: answers.on(TOPIC, "pa"))[0] == 1
    assert _counted(kept, lambda: answers.on(TOPIC, "none-of-these")) == [1, _entry("none")]
    for number in range(100):
        for name in (f"other-{number}", f"none-{number}"):
            assert _counted(kept, lambda name=name: answers.on(TOPIC, name)) == [0, 0]
            assert answers.on(TOPIC, name) == verdicts_of(0)
    assert set(answers.verdicts[TOPIC]) == {
        *(f"{number:04}" for number in range(NAMES_BEFORE_PREFIXES)),
        "pa",
    }
    assert answers.on(TOPIC, "pay")[READ] is ALLOWED


def test_one_entry_serves_all_names_of_a_super_user() -> None:
    answers, kept = _answers(PAY, is_super_user=True)
    assert _counted(kept, lambda: answers.on(TOPIC, "any"))[0] == 2
    for name in ("pay", "other", ""):
        assert _counted(kept, lambda name=name: answers.on(TOPIC, name)) == [0, 0]
        assert answers.on(TOPIC, name) == verdicts_of(ALL_OPERATIONS)


def test_a_deny_among_many_acls_of_a_name_counts_by_type() -> None:
    others = [PAY._replace(principal=f"User:{number}") for number in range(2 * SOME_LIMIT)]
    deny = _acl("*", permission=PermissionType.DENY)
    assert _answers(PAY, *others)[0].is_allowed_on_some(READ, TOPIC)
    for wildcard in ([], [each._replace(resource_name="*") for each in others]):
        assert not _answers(PAY, deny, *others, *wildcard)[0].is_allowed_on_some(READ, TOPIC)


def test_a_change_drops_all_names_where_there_are_very_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(invalidation, "_MOST_KEPT", 2)
    few = dict.fromkeys(("a", "pay"), verdicts_of(0))
    assert without_matched(few, [PAY]) == {"a": verdicts_of(0)}
    assert without_matched(few | {"b": verdicts_of(0)}, [PAY]) == {}


def test_sessions_of_one_request_each_are_not_cached() -> None:
    context = DecisionContext(AclIndex.of([PAY]), AuthorizerConfig(), shut_by="")
    for user in range(50):
        context.uncached(("10.0.0.1", f"User:{user}"), TOPIC, "pay")
    assert context.sessions == {}
    for _ in range(ADMISSION_THRESHOLD + 1):
        found = context.uncached(APP, TOPIC, "pay")
    assert context.sessions[APP].verdicts[TOPIC] == {"pay": found}
    for _ in range(2):
        context.uncached(("10.0.0.1", "User:eve"), TOPIC, "pays")
    answers = context.sessions[APP]
    again = _counted(context._remembered, lambda: context.add_to(answers, APP, TOPIC, "pays"))
    assert again[0] == 2
    assert answers.verdicts[TOPIC]["pays"] == verdicts_of(0)


@pytest.mark.parametrize("super_users", [frozenset[str](), frozenset({"User:app"})])
def test_actions_of_alternating_types_are_looked_through_once_for_each_type(
    super_users: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_through = []

    def add_all(cache: SessionCache, names: Iterable[str]) -> None:
        looked_through.append(list(names))

    monkeypatch.setattr(SessionCache, "add_all", add_all)
    kinds = (TOPIC, ResourceType.GROUP)
    actions = [
        Action(READ, ResourcePattern(kind, f"{LONGEST}{number}"))
        for number in range(5)
        for kind in kinds
    ]
    context = DecisionContext(AclIndex.of([PAY]), AuthorizerConfig(super_users), shut_by="")
    results_of(context, APP, actions)
    assert looked_through == [[f"{LONGEST}{number}" for number in range(5)]] * len(kinds)


@pytest.mark.parametrize("super_users", [frozenset[str](), frozenset({"User:app"})])
def test_any_is_not_the_type_of_a_resource(super_users: frozenset[str]) -> None:
    config = AuthorizerConfig(super_users)
    context = DecisionContext(AclIndex.of([PAY]), config, shut_by="")
    for ask in (
        lambda: context.uncached(APP, ResourceType.ANY, "pay"),
        lambda: context.session(APP).on(ResourceType.ANY, "pay"),
        lambda: context.decide(APP, READ, ResourceType.ANY, "pay"),
    ):
        with pytest.raises(
            InvalidRequest, match=r"^a resource has one type: name it; ANY is for filters only$"
        ):
            ask()


def test_a_change_of_acls_does_not_open_the_gate() -> None:
    index = AclIndex.of([PAY])
    shut = DecisionContext(index, AuthorizerConfig(), shut_by="too old")
    assert shut.after(index, [PAY]).shut_by == "too old"


def test_a_super_user_is_answered_before_and_after_a_change() -> None:
    index = AclIndex.of([PAY])
    context = DecisionContext(index, AuthorizerConfig(frozenset({"User:app"})), shut_by="")
    for _ in range(3):
        assert context.uncached(APP, TOPIC, "pay") == verdicts_of(ALL_OPERATIONS)
        context = context.after(index, [PAY._replace(principal="User:eve")])


@pytest.mark.parametrize("requests", [1, 2, 3, 20])
def test_each_request_of_a_session_with_several_principals_counts_all_and_its_host(
    requests: int,
) -> None:
    def of(name: str, principal: str, host: str) -> Acl:
        return PAY._replace(resource_name=name, principal=principal, host=host)

    acls = [
        of("own", "User:app", "10.0.0.1"),
        of("groups", "Group:a", "10.0.0.1"),
        of("elsewhere", "User:app", "User:app"),
        of("others", "User:other", "*"),
    ]
    context = DecisionContext(AclIndex.of(acls), AuthorizerConfig(), shut_by="")
    VERDICTS.clear()
    for _ in range(requests):
        allowed = {
            each.resource_name: context.uncached((*APP, "Group:a"), TOPIC, each.resource_name)[READ]
            for each in acls
        }
    assert {name for name, result in allowed.items() if result is ALLOWED} == {"own", "groups"}


def test_a_stranger_gets_what_everybody_may_though_nobody_had_it_before() -> None:
    everybodys = PAY._replace(principal="User:*", operation=Operation.ALTER)
    context = DecisionContext(AclIndex.of([everybodys, PAY]), AuthorizerConfig(), shut_by="")
    for _ in range(2):
        VERDICTS.clear()
        assert context.uncached(("h", "User:stranger"), TOPIC, "pay")[Operation.ALTER] is ALLOWED


def test_an_acl_of_everybody_at_one_host_counts_at_each_request_from_there() -> None:
    acls = [PAY, PAY._replace(principal="User:*", host="10.0.0.2")]
    context = DecisionContext(AclIndex.of(acls), AuthorizerConfig(), shut_by="")
    for _ in range(3):
        for host, is_allowed in (("10.0.0.1", False), ("10.0.0.2", True)):
            found = context.uncached((host, "User:eve"), TOPIC, "pay")
            assert (found[READ] is ALLOWED) is is_allowed


def test_a_super_user_stays_one_after_changes_of_its_acls() -> None:
    config = AuthorizerConfig(frozenset({"User:app"}))
    context = DecisionContext(AclIndex.of([PAY]), config, shut_by="")
    assert context.session(APP).on(TOPIC, "pay")[WRITE] is ALLOWED
    deny = _acl("pay", operation=WRITE, permission=PermissionType.DENY)
    later = context.after(AclIndex.of([PAY, deny]), [deny])
    assert later.session(APP).on(TOPIC, "pay")[WRITE] is ALLOWED
    assert later.session(APP).on(TOPIC, "other")[WRITE] is ALLOWED


def test_a_session_counts_the_bytes_of_its_texts() -> None:
    assert bytes_of(("h", "User:" + "a" * 1000)) > bytes_of(("h", "User:a")) + 990
