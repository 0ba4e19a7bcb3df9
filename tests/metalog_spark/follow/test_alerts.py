"""Alerts about grants follow ``lint``."""

from __future__ import annotations

from authorizer.analysis.lint.finding import Severity
from authorizer.config import AuthorizerConfig
from authorizer.history.timeline import AclLifetime, Edge
from metalog.acl import Acl, Operation, PermissionType, ResourceType
from metalog_spark.follow.alerts import NOTHING, Alert, of_grants, of_lost_lines
from tests.support.disk.tiny_log import uuid
from tests.support.worlds.small_acls import allow

READ_T = allow("t", principal="User:a")
CLUSTER = READ_T._replace(resource_type=ResourceType.CLUSTER, resource_name="kafka-cluster")


def alerts(*lifetimes: AclLifetime, after: int = 0, super_users: str = "") -> list[Alert]:
    config = AuthorizerConfig(super_users=frozenset({super_users}))
    return list(of_grants(lifetimes, after, lambda _: config))


def life(number: int, acl: Acl, begin: int | None, end: int | None = None) -> AclLifetime:
    edges = [None if at is None else Edge(at, at * 1000) for at in (begin, end)]
    return AclLifetime(uuid(number), acl, *edges)


def kinds(acl: Acl) -> list[tuple[str, Severity]]:
    return [(each.kind, each.severity) for each in alerts(life(1, acl, 5))]


def test_of_what_is_lost_some_is_named_and_what_to_do() -> None:
    first = [f"{name}: gone" for name in "abc"]
    of_files, of_topic = (
        of_lost_lines(7, first, 5, topic=topic).message for topic in (False, True)
    )
    assert of_files.startswith("a: gone; b: gone; c: gone; and 2 more; the requests in these")
    assert of_files.endswith(": put the missing lines into a file with another name")
    assert of_topic.endswith(": read the topic sooner, or have it keep records longer")


def test_what_opens_too_much_is_named_as_lint_names_it() -> None:
    everybody = READ_T._replace(principal="User:*")
    assert kinds(everybody) == [("everyone", Severity.WARNING)]
    assert kinds(everybody._replace(operation=Operation.WRITE)) == [("everyone", Severity.ERROR)]
    assert kinds(everybody._replace(operation=Operation.DESCRIBE)) == [("everyone", Severity.INFO)]
    for operation in (Operation.ALL, Operation.ALTER):
        assert kinds(CLUSTER._replace(operation=operation)) == [
            ("super-user-like", Severity.WARNING)
        ]
    everything = READ_T._replace(resource_name="*", operation=Operation.ALL)
    assert kinds(everything) == [("all-topics", Severity.WARNING)]


def test_what_does_not_is_not() -> None:
    assert not alerts(life(1, READ_T, 5))
    denied = READ_T._replace(principal="User:*", permission_type=PermissionType.DENY)
    assert not alerts(life(1, denied, 5))
    alter = CLUSTER._replace(operation=Operation.ALTER)
    assert not alerts(life(1, alter, 5), super_users="User:a")


def test_a_grant_is_told_once_when_it_is_new() -> None:
    alter = CLUSTER._replace(operation=Operation.ALTER)
    [alert] = alerts(life(1, alter, 5), after=4)
    assert (alert.time_ms, alert.log_offset, alert.principal) == (5000, 5, "User:a")
    assert alert.remedy is not None
    assert "--remove" in alert.remedy
    assert not alerts(life(1, alter, 5), after=5)
    assert not alerts(life(1, alter, None))


def test_a_second_id_of_the_same_grant_is_no_news_but_its_return_is() -> None:
    alter = CLUSTER._replace(operation=Operation.ALTER)
    first = life(1, alter, 3, 8)
    assert not alerts(first, life(2, alter, 5), after=4)
    assert len(alerts(first, life(2, alter, 8), after=4)) == 1
    assert len(alerts(first, life(2, alter, 9), after=4)) == 1


def test_of_the_past_of_a_log_only_what_still_holds_is_told() -> None:
    alter = CLUSTER._replace(operation=Operation.ALTER)
    again, gone = alter._replace(principal="User:b"), alter._replace(principal="User:c")
    past = (life(1, alter, 5), life(2, again, 3, 4), life(3, again, 6), life(4, gone, 3, 4))
    told = [(each.principal, each.log_offset) for each in alerts(*past, after=NOTHING)]
    assert told == [("User:a", 5), ("User:b", 6)]
    assert len(alerts(*past, after=0)) == 4
