from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authorizer import Action, RequestContext, topic
from authorizer.compat.kip11 import (
    Acl,
    AuthorizationException,
    KafkaPrincipal,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
    Session,
    SimpleAclAuthorizer,
    anonymous,
)
from metalog.errors import AuthorizerNotReady, InvalidRequest, MetalogError, NotController
from tests.support.worlds.kip11_acls import (
    HOSTS,
    NAMES,
    OPERATIONS,
    PRINCIPALS,
    Attached,
    attached,
    having,
    on_a_log,
)

ALICE = Session("user:alice", "host1")
BOB = Session(KafkaPrincipal("User", "bob"), "host1")
PAYMENTS = Resource(ResourceType.TOPIC, "payments")
READ = Acl({"user:alice"}, "ALLOW", {"*"}, {"READ"})


def concerns(acl: Acl, session: Session, operation: Operation, also: set[Operation]) -> bool:
    principals = {str(principal) for principal in acl.principals}
    return (
        not principals.isdisjoint({"User:*", str(session.principal)})
        and not acl.hosts.isdisjoint({"*", session.host})
        and not acl.operations.isdisjoint({Operation.ALL, operation} | also)
    )


def reaches(pattern: Resource, resource: Resource) -> bool:
    if pattern.resource_type is not resource.resource_type:
        return False
    if pattern.pattern_type is PatternType.PREFIXED:
        return resource.name.startswith(pattern.name)
    return pattern.name in ("*", resource.name)


def kip_11_says(
    given: Attached, session: Session, operation: Operation, resource: Resource, everyone: bool
) -> bool:
    found = [acl for acl, pattern in given if reaches(pattern, resource)]
    denies = [acl for acl in found if acl.permission_type is PermissionType.DENY]
    allows = [acl for acl in found if acl.permission_type is PermissionType.ALLOW]
    if any(concerns(acl, session, operation, set()) for acl in denies):
        return False
    implying = {Operation.READ, Operation.WRITE} if operation is Operation.DESCRIBE else set()
    return everyone or any(concerns(acl, session, operation, implying) for acl in allows)


@given(
    attached,
    st.builds(Session, st.sampled_from(PRINCIPALS), st.sampled_from(HOSTS)),
    st.sampled_from(OPERATIONS),
    st.sampled_from(NAMES),
    st.booleans(),
)
def test_it_decides_by_kip_11(
    given: Attached, session: Session, operation: Operation, name: str, everyone: bool
) -> None:
    resource = Resource(ResourceType.TOPIC, name)
    authorizer = having(given, {"allow.everyone": str(everyone)})
    expected = kip_11_says(given, session, operation, resource, everyone)
    assert authorizer.authorize(session, operation, resource) is expected


def test_what_has_no_acl_is_denied() -> None:
    assert not having([]).authorize(ALICE, "READ", PAYMENTS)


def test_a_deny_counts_before_any_allow() -> None:
    """KIP-11: allowed from all hosts, denied from host1."""
    deny = Acl({"user:alice"}, "DENY", {"host1"}, {"READ"})
    authorizer = having([(READ, PAYMENTS), (deny, PAYMENTS)])
    assert not authorizer.authorize(ALICE, "READ", PAYMENTS)
    assert authorizer.authorize(Session("user:alice", "host2"), "READ", PAYMENTS)


@pytest.mark.parametrize(
    ("allowed", "describes"),
    [("READ", True), ("WRITE", True), ("ALL", True), ("DELETE", False), ("ALTER", False)],
)
def test_read_and_write_imply_describe_and_nothing_else_does(allowed: str, describes: bool) -> None:
    """Later, Kafka also implied it from DELETE and ALTER; KIP-11 does not."""
    authorizer = having([(Acl({"user:alice"}, "ALLOW", {"*"}, {allowed}), PAYMENTS)])
    assert authorizer.authorize(ALICE, "DESCRIBE", PAYMENTS) is describes
    denied = having([(READ, PAYMENTS), (Acl({"user:alice"}, "DENY", {"*"}, {"WRITE"}), PAYMENTS)])
    assert denied.authorize(ALICE, "DESCRIBE", PAYMENTS)


def test_allow_everyone_allows_what_no_deny_denies() -> None:
    deny = Acl({"user:bob"}, "DENY", {"*"}, {"ALL"})
    authorizer = having([(READ, PAYMENTS), (deny, PAYMENTS)], {"allow.everyone": "true"})
    assert authorizer.authorize(ALICE, "WRITE", PAYMENTS)
    assert authorizer.authorize(anonymous("host1"), "READ", PAYMENTS)
    assert not authorizer.authorize(BOB, "READ", PAYMENTS)
    assert authorizer.authorize(BOB, "READ", Resource("TOPIC", "orders"))


def test_super_users_pass_before_all_acls_were_seen_and_nobody_else_is_answered() -> None:
    authorizer = SimpleAclAuthorizer()
    authorizer.initialize({"kafka.superusers": "user:alice", "allow.everyone": "true"})
    assert authorizer.authorize(ALICE, "CLUSTER_ACTION", Resource("CLUSTER", "kafka-cluster"))
    with pytest.raises(AuthorizerNotReady):
        authorizer.authorize(BOB, "READ", PAYMENTS)


def test_a_super_user_passes_a_deny() -> None:
    deny = Acl({"user:*"}, "DENY", {"*"}, {"ALL"})
    authorizer = having([(deny, PAYMENTS)], {"kafka.superusers": "user:alice"})
    assert authorizer.authorize(ALICE, "READ", PAYMENTS)


def test_only_a_literal_resource_can_be_asked_about() -> None:
    with pytest.raises(InvalidRequest, match="only LITERAL"):
        having([]).authorize(ALICE, "READ", Resource("TOPIC", "pay", "PREFIXED"))


def test_a_refusal_can_be_raised_as_the_server_does() -> None:
    authorizer = having([(READ, PAYMENTS)])
    authorizer.demand(ALICE, "READ", PAYMENTS)
    with pytest.raises(
        AuthorizationException,
        match=r"^User:bob is not authorized to WRITE TOPIC payments from host1$",
    ):
        authorizer.demand(BOB, Operation.WRITE, PAYMENTS)
    assert issubclass(AuthorizationException, MetalogError)


def test_acls_are_added_listed_and_removed() -> None:
    team = Acl({"user:alice", "user:bob"}, "ALLOW", {"host1", "host2"}, {"READ", "WRITE"})
    deny = Acl({"user:bob"}, "DENY", {"*"}, {"DELETE"})
    with on_a_log() as authorizer:
        authorizer.add_acls({team}, PAYMENTS)
        authorizer.add_acls([deny, deny], PAYMENTS)
        assert authorizer.get_acls(PAYMENTS) == {team, deny}
        assert len(authorizer.standard.acls()) == 9
        assert authorizer.authorize(ALICE, "WRITE", PAYMENTS)
        own = Acl({"user:bob"}, "ALLOW", {"host1", "host2"}, {"READ", "WRITE"})
        assert authorizer.get_acls(KafkaPrincipal("user", "bob")) == {own, deny}
        assert authorizer.get_acls(KafkaPrincipal("User", "*")) == set()
        assert authorizer.remove_acls([own], PAYMENTS) is True
        assert authorizer.remove_acls([own], PAYMENTS) is False
        assert authorizer.get_acls(PAYMENTS) == {
            Acl({"user:alice"}, "ALLOW", {"host1", "host2"}, {"READ", "WRITE"}),
            deny,
        }
        assert authorizer.remove_acls(PAYMENTS) is True
        assert authorizer.remove_acls(PAYMENTS) is False
        assert authorizer.get_acls(PAYMENTS) == set()


def test_adding_and_listing_is_of_exactly_one_pattern() -> None:
    """KIP-290: these calls still take one exact pattern; only ``authorize`` looks at matching
    patterns."""
    prefixed = Resource("TOPIC", "pay", "PREFIXED")
    everything = Resource("TOPIC", "*")
    with on_a_log() as authorizer:
        for resource in (prefixed, everything):
            authorizer.add_acls({READ}, resource)
        assert authorizer.authorize(ALICE, "READ", PAYMENTS)
        assert authorizer.authorize(ALICE, "READ", Resource("TOPIC", "pay"))
        for other in (PAYMENTS, Resource("TOPIC", "pay"), Resource("TOPIC", "*", "PREFIXED")):
            assert authorizer.get_acls(other) == set()
            assert not authorizer.remove_acls(other)
            assert not authorizer.remove_acls({READ}, other)
        assert authorizer.get_acls(KafkaPrincipal("User", "alice")) == {READ}
        assert authorizer.remove_acls({READ}, everything)
        assert authorizer.get_acls(prefixed) == {READ}


def test_what_the_controller_refuses_is_raised_and_nothing_is_added() -> None:
    with on_a_log() as authorizer:
        with pytest.raises(InvalidRequest, match=r"INVALID_REQUEST: .* kafka-cluster"):
            authorizer.add_acls({READ}, Resource("CLUSTER", "mine"))
        with pytest.raises(InvalidRequest, match="Invalid operation ANY"):
            authorizer.add_acls({Acl({"user:a"}, "ALLOW", {"*"}, {"ANY"})}, PAYMENTS)
        with pytest.raises(InvalidRequest, match="name a resource"):
            authorizer.remove_acls([READ])  # type: ignore[call-overload]
        assert authorizer.standard.acls() == ()


def test_without_a_log_open_for_writing_nothing_is_changed() -> None:
    with pytest.raises(NotController):
        having([]).add_acls({READ}, PAYMENTS)


def test_it_is_a_view_of_the_acls_that_todays_authorizer_has() -> None:
    with on_a_log() as authorizer:
        authorizer.add_acls({READ}, PAYMENTS)
        context = RequestContext("User:alice", "host9")
        assert authorizer.standard.is_allowed(context, Action(Operation.READ, topic("payments")))
