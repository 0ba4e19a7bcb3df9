"""The changes of the demo company's ACLs over the year.

A setup wizard grants more than a service uses, and most grants stay when a service leaves. This
module must not know offsets, nor which requests are sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from random import Random
from typing import Final, NamedTuple

from metalog.acl import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from metalog_spark.demo.calendar import DAY, HOUR, MINUTE, START, moment, office_time
from metalog_spark.demo.company import (
    INTRANET,
    LOADER,
    MOVED,
    TILLS,
    TRACKER,
    UNPROTECTED,
    Service,
    topics,
)

Op = Operation
_TOPIC: Final = ResourceType.TOPIC
_GROUP: Final = ResourceType.GROUP
_CLUSTER: Final = ResourceType.CLUSTER
_TRANSACTIONAL: Final = ResourceType.TRANSACTIONAL_ID
_PREFIXED: Final = PatternType.PREFIXED

DEPLOYER: Final = "User:terraform"
CONTRACTOR: Final = "User:contractor-lmb"
AUDITOR: Final = "User:auditor"
LAKE: Final = "User:data-lake"

TRACKER_BROKEN: Final = moment("2025-04-15T09:12:31.250")
TRACKER_MENDED: Final = moment("2025-04-15T12:40:05.900")
LOADER_BROKEN: Final = moment("2025-10-07T22:05:12.040")
LOADER_MENDED: Final = moment("2025-10-08T06:31:44.700")
CONFIG_CHANGED: Final = moment("2025-06-16T07:00:00")
INTRANET_GRANTED: Final = CONFIG_CHANGED + 2 * HOUR + 11 * MINUTE
ALL_TOPICS_GRANTED: Final = moment("2025-06-18T13:37:00")


class Event(NamedTuple):
    """One request to Kafka, which removes the ACLs in ``removed`` or adds those in ``added``."""

    time_ms: int
    removed: tuple[Acl, ...]
    added: tuple[Acl, ...]


def acl(
    principal: str,
    operation: Operation,
    kind: ResourceType,
    name: str,
    *,
    pattern: PatternType = PatternType.LITERAL,
    host: str = WILDCARD,
    permission: PermissionType = PermissionType.ALLOW,
) -> Acl:
    return Acl(kind, name, pattern, principal, host, operation, permission)


def story(
    random: Random, services: Sequence[Service], migrations: Sequence[TopicMigration], changes: int
) -> list[Event]:
    """The events in order of time, with exactly ``changes`` added or removed ACLs.

    Raises:
        ValueError: the fixed events alone have more changes.
    """
    wanted = [
        *_first_day(),
        *_of_services(random, services),
        *_of_migrations(migrations),
        *_in_a_hurry(),
        *_broken_and_mended(),
        *_cleaned_up(random, services),
    ]
    missing = changes - sum(len(each.removed) + len(each.added) for each in _effective(wanted))
    if missing < 0:
        raise ValueError(f"{changes} changes of ACLs are too few: use at least {changes - missing}")
    return _effective([*wanted, *_on_call(random, missing)])


def _effective(wanted: Iterable[Event]) -> list[Event]:
    """Kafka does not add an existing ACL, nor remove a missing ACL."""
    bound: set[Acl] = set()
    done = []
    for time_ms, removed, added in sorted(wanted, key=lambda event: event.time_ms):
        gone = tuple(entry for entry in dict.fromkeys(removed) if entry in bound)
        bound.difference_update(gone)
        new = tuple(entry for entry in dict.fromkeys(added) if entry not in bound)
        bound.update(new)
        if gone or new:
            done.append(Event(time_ms, gone, new))
    return done


def _first_day() -> Iterator[Event]:
    yield _added(
        START + 2 * HOUR,
        acl(DEPLOYER, Op.ALTER, _CLUSTER, CLUSTER_NAME),
        acl(DEPLOYER, Op.ALTER_CONFIGS, _CLUSTER, CLUSTER_NAME),
        acl(DEPLOYER, Op.CREATE, _CLUSTER, CLUSTER_NAME),
        acl(DEPLOYER, Op.DESCRIBE, _CLUSTER, CLUSTER_NAME),
        acl(WILDCARD_PRINCIPAL, Op.DESCRIBE, _CLUSTER, CLUSTER_NAME),
        acl(AUDITOR, Op.READ, _TOPIC, "platform.audit.", pattern=_PREFIXED),
        acl(
            WILDCARD_PRINCIPAL,
            Op.DELETE,
            _TOPIC,
            "platform.audit.",
            pattern=_PREFIXED,
            permission=PermissionType.DENY,
        ),
    )


def _of_services(random: Random, services: Sequence[Service]) -> Iterator[Event]:
    for service in services:
        if service is INTRANET:
            continue
        granted = tuple(wizard(random, service))
        begun = START + 3 * HOUR + random.randrange(5 * HOUR)
        if service.begins:
            begun = office_time(random, service.begins) - 2 * HOUR
        yield Event(begun, (), granted)
        if service.ends * DAY + START < moment("2025-12-20") and random.random() < 0.4:
            yield Event(office_time(random, service.ends + 5), granted, ())


def wizard(random: Random, service: Service) -> Iterator[Acl]:
    """The ACLs that the wizard creates for a new service."""
    who = service.principal
    is_generous = random.random() < 0.3
    for name in service.writes:
        yield acl(who, Op.WRITE, _TOPIC, name)
        yield acl(who, Op.DESCRIBE, _TOPIC, name)
        if is_generous:
            yield acl(who, Op.CREATE, _TOPIC, name)
            yield acl(who, Op.ALTER_CONFIGS, _TOPIC, name)
    for name in service.reads:
        yield acl(who, Op.READ, _TOPIC, name)
        if name not in TILLS:
            yield acl(who, Op.DESCRIBE, _TOPIC, name)
    if service.reads:
        yield acl(who, Op.READ, _GROUP, service.group)
        if is_generous:
            yield acl(who, Op.DELETE, _GROUP, service.group)
    if service.is_transactional:
        yield acl(who, Op.WRITE, _TRANSACTIONAL, service.transactional_id)
        yield acl(who, Op.DESCRIBE, _TRANSACTIONAL, service.transactional_id)
    if service not in (TRACKER, LOADER) and random.random() < 0.1:
        yield acl(who, Op.READ, _TOPIC, f"{service.team}.", pattern=_PREFIXED)


class TopicMigration(NamedTuple):
    """``service`` migrates from the topic ``first`` to the topic ``second``."""

    service: Service
    first: str
    time_ms: int
    removes_old: bool

    @property
    def second(self) -> str:
        return self.first.removesuffix("1") + "2"


def topic_migrations(random: Random, services: Sequence[Service]) -> list[TopicMigration]:
    """Few services remove their grants on the first version of a topic."""
    found = []
    for number, first in enumerate(MOVED):
        for service in services:
            if service in (TRACKER, LOADER) or first not in (*service.writes, *service.reads):
                continue
            day = max(service.begins + 10, 100 + 40 * number) + random.randrange(30)
            if day < service.ends:
                removes_old = random.random() < 0.15
                found.append(TopicMigration(service, first, office_time(random, day), removes_old))
    return found


def _of_migrations(migrations: Sequence[TopicMigration]) -> Iterator[Event]:
    for each in migrations:
        operations = [Op.READ] if each.first in each.service.reads else []
        operations += [Op.WRITE] if each.first in each.service.writes else []
        old = [
            acl(each.service.principal, operation, _TOPIC, each.first)
            for operation in (*operations, Op.DESCRIBE)
        ]
        new = [grant._replace(resource_name=each.second) for grant in old]
        yield Event(each.time_ms, (), tuple(new))
        if each.removes_old:
            yield Event(each.time_ms + 7 * DAY, tuple(old), ())


def _in_a_hurry() -> Iterator[Event]:
    """Broad grants that were the quickest solution, and a DENY against one of them."""
    everybody = acl(WILDCARD_PRINCIPAL, Op.READ, _TOPIC, "catalog.prices.v1")
    debugging = acl(WILDCARD_PRINCIPAL, Op.READ, _TOPIC, "support.tickets.v1")
    yield _added(moment("2025-02-20T16:48:03.010"), everybody)
    yield _added(moment("2025-05-06T13:20:44.501"), debugging)
    yield Event(moment("2025-05-08T09:01:10.999"), (debugging,), ())
    yield _added(
        moment("2025-03-11T10:15:20.300"),
        acl(CONTRACTOR, Op.ALL, _TOPIC, "payments.", pattern=_PREFIXED),
        acl(CONTRACTOR, Op.ALL, _GROUP, WILDCARD),
    )
    yield _added(
        moment("2025-03-12T08:40:00.120"),
        acl(
            CONTRACTOR,
            Op.ALL,
            _TOPIC,
            "payments.cards.",
            pattern=_PREFIXED,
            permission=PermissionType.DENY,
        ),
    )
    yield _added(
        ALL_TOPICS_GRANTED,
        acl(AUDITOR, Op.DESCRIBE, _TOPIC, WILDCARD),
        acl(LAKE, Op.READ, _TOPIC, WILDCARD),
        acl(LAKE, Op.READ, _GROUP, "data-lake.", pattern=_PREFIXED),
    )
    yield _added(
        moment("2025-09-02T15:33:09.870"),
        acl("User:incident-4711", Op.ALL, _TOPIC, WILDCARD),
        acl("User:incident-4711", Op.ALTER, _CLUSTER, CLUSTER_NAME),
    )
    yield _added(
        INTRANET_GRANTED,
        *(acl(INTRANET.principal, Op.WRITE, _TOPIC, name) for name in UNPROTECTED[:1]),
        *(acl(WILDCARD_PRINCIPAL, Op.READ, _TOPIC, name) for name in UNPROTECTED),
        acl(WILDCARD_PRINCIPAL, Op.READ, _GROUP, "intranet."),
    )


def _broken_and_mended() -> Iterator[Event]:
    for service, name, broken, mended in (
        (TRACKER, TRACKER.reads[0], TRACKER_BROKEN, TRACKER_MENDED),
        (LOADER, LOADER.reads[0], LOADER_BROKEN, LOADER_MENDED),
    ):
        lost = tuple(acl(service.principal, op, _TOPIC, name) for op in (Op.READ, Op.DESCRIBE))
        yield Event(broken, lost, ())
        yield Event(mended, (), lost)


def _cleaned_up(random: Random, services: Sequence[Service]) -> Iterator[Event]:
    for day in (92, 183, 275):
        for service in random.sample(services, 8):
            needless = tuple(
                acl(service.principal, op, _TOPIC, name)
                for name in service.writes
                for op in (Op.CREATE, Op.ALTER_CONFIGS)
            )
            yield Event(office_time(random, day), needless, ())


def _on_call(random: Random, changes: int) -> Iterator[Event]:
    """Grants to read a topic from one host for some hours."""
    lendable = [name for name in topics() if name not in (*UNPROTECTED, *TRACKER.reads)]
    for number in count():
        if 2 * number >= changes:
            return
        begun = office_time(random, random.randrange(7, 355))
        lent = acl(
            f"User:on-call-{random.choice(('ada', 'brid', 'cian', 'dara', 'enda'))}",
            Op.READ,
            _TOPIC,
            random.choice(lendable),
            host=f"10.99.{number // 250}.{number % 250 + 1}",
        )
        yield _added(begun, lent)
        if 2 * number + 1 < changes:
            yield Event(begun + random.randrange(HOUR, 30 * HOUR), (lent,), ())


def _added(time_ms: int, *acls: Acl) -> Event:
    return Event(time_ms, (), acls)
