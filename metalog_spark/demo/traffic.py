"""The requests of the demo's year: principals, resources, rates and times.

Few clients send most of the requests (Zipf). There are fewer requests at night and on weekends, and
more towards the end of the year. This module must not know the answers, nor what a broker logs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import accumulate
from math import pi, sin
from random import Random
from typing import Final, NamedTuple

from metalog.acl import CLUSTER_NAME, Operation, ResourceType
from metalog_spark.demo.calendar import DAY, DAYS, END, HOUR, SECOND, START, is_weekend, moment
from metalog_spark.demo.company import COMPANY, INTRANET, LOADER, TRACKER, UNPROTECTED, Service
from metalog_spark.demo.story import (
    ALL_TOPICS_GRANTED,
    AUDITOR,
    CONTRACTOR,
    DEPLOYER,
    LAKE,
    LOADER_BROKEN,
    LOADER_MENDED,
    TRACKER_BROKEN,
    TRACKER_MENDED,
    Event,
    TopicMigration,
)

Op = Operation
_TOPIC: Final = ResourceType.TOPIC
_GROUP: Final = ResourceType.GROUP
_CLUSTER: Final = ResourceType.CLUSTER
_TRANSACTIONAL: Final = ResourceType.TRANSACTIONAL_ID

ADMIN: Final = "User:kafka-admin"
OLD_ROOT: Final = "User:legacy-root"
BROKER_PRINCIPALS: Final = tuple(
    f"User:CN=broker-{number},OU=platform,O={COMPANY},C=IE" for number in (1, 2, 3)
)
BROKER_COUNT: Final = 3
_LOADS: Final = (5, 4, 3)
"""Each broker's share of the requests."""
_STORM: Final = 0.006
"""A storm of denials adds this share of all requests."""
_RETRIES_S: Final = (1, 3, 7, 15, 31, 63)
"""A client repeats its request this many seconds after its ACL was removed."""
_ZIPF: Final = 1.1
_WISHED_FOR: Final = ("payments.cards.v1", "finance.ledger.v1", "customers.consents.v1")

_TAIL: Final = " for request = Fetch with resourceRefCount = 1 based on rule MatchingAcl(acl=..."


class Forged(NamedTuple):
    """The content of a line that a client forged."""

    time: str
    principal: str
    resource_name: str


FORGED: Final = Forged("2025-11-19 03:14:07,000", "User:intranet-web", f"finance.ledger.v1{_TAIL}")


class Activity(NamedTuple):
    """A request that a principal repeats from ``begins`` to ``ends`` (exclusive)."""

    principal: str
    host: str
    request_name: str
    operation: Operation
    resource_type: ResourceType
    name: str
    weight: float = 1.0
    reference_count: int = 1
    begins: int = START
    ends: int = END


Request = tuple[int, int, int]
"""A request: its time in milliseconds since 1970, and the indexes of its activity and broker."""


def _probe(name: str) -> Activity:
    return Activity("User:guest", "192.0.2.66", "Metadata", Op.DESCRIBE, _TOPIC, name, 0.0)


PROBES: Final = (
    _probe(f"x{_TAIL}"),
    _probe("y is Allowed operation = READ from host = 10.20.0.9 on resource = Topic:LITERAL:z"),
    _probe(
        f"x\n[{FORGED.time}] DEBUG Principal = {FORGED.principal} is Allowed operation = READ"
        f" from host = 192.0.2.66 on resource = Topic:LITERAL:{FORGED.resource_name}"
    ),
)
"""Requests for names that make the audit lines ambiguous."""
_CHANGES_OF_ACLS: Final = tuple(
    Activity(DEPLOYER, "10.20.0.30", name, Op.ALTER, _CLUSTER, CLUSTER_NAME, 0.0)
    for name in ("CreateAcls", "DeleteAcls")
)
_BEAT: Final = Activity(
    BROKER_PRINCIPALS[1],
    "10.20.0.2",
    "BrokerHeartbeat",
    Op.CLUSTER_ACTION,
    _CLUSTER,
    CLUSTER_NAME,
    0.0,
)
"""A broker's heartbeat. Only the active controller logs heartbeats. The demo writes its
lines to the first broker's audit log."""
_BEATS_FROM: Final = 50
"""With fewer requests per hour on average, no heartbeat is added."""
_PROBED: Final = moment("2025-11-19T03:14:05")


def activities(
    random: Random, services: Sequence[Service], migrations: Sequence[TopicMigration]
) -> list[Activity]:
    ranked = [*services]
    random.shuffle(ranked)
    ranked = [LOADER, TRACKER, *(service for service in ranked if service not in (LOADER, TRACKER))]
    of_services: list[Activity] = []
    for rank, service in enumerate(ranked, 1):
        own = [*_of_service(random, service, migrations)]
        share = 1 / rank**_ZIPF / len(own)
        of_services += [activity._replace(weight=activity.weight * share) for activity in own]
    return [*of_services, *_of_others(), *_CHANGES_OF_ACLS, _BEAT, *PROBES]


def _of_service(
    random: Random, service: Service, migrations: Sequence[TopicMigration]
) -> Iterator[Activity]:
    begins = START + (service.begins + 1) * DAY if service.begins else START + 9 * HOUR
    ends = START + service.ends * DAY
    by_first = {each.first: each for each in migrations if each.service is service}
    for host in service.hosts:
        template = Activity(service.principal, host, "", Op.ANY, _TOPIC, "", 1.0, 1, begins, ends)
        for name in service.writes:
            yield from _migrating(template, "Produce", Op.WRITE, name, 5.0, by_first)
            yield from _migrating(template, "Metadata", Op.DESCRIBE, name, 0.5, by_first)
        for name in service.reads[: service.used]:
            yield from _migrating(template, "Fetch", Op.READ, name, 4.0, by_first)
        if service.used:
            yield _activity(template, "OffsetCommit", Op.READ, _GROUP, service.group, 1.5)
            yield _activity(template, "JoinGroup", Op.READ, _GROUP, service.group, 0.05)
        if service.is_transactional:
            name = service.transactional_id
            yield _activity(template, "AddPartitionsToTxn", Op.WRITE, _TRANSACTIONAL, name, 1.0)
        if random.random() < 0.12:
            name = random.choice(_WISHED_FOR)
            yield _activity(template, "Fetch", Op.READ, _TOPIC, name, 0.2)
        if service is INTRANET:
            yield _activity(template, "Fetch", Op.READ, _TOPIC, UNPROTECTED[1], 1.0)


def _migrating(
    template: Activity,
    request_name: str,
    operation: Operation,
    name: str,
    weight: float,
    by_first: dict[str, TopicMigration],
) -> Iterator[Activity]:
    first = _activity(template, request_name, operation, _TOPIC, name, weight)
    migration = by_first.get(name)
    if migration is None:
        yield first
        return
    begun = migration.time_ms // HOUR * HOUR + HOUR
    yield first._replace(ends=min(begun + DAY, template.ends))
    yield first._replace(name=migration.second, begins=begun)


def _activity(
    template: Activity,
    request_name: str,
    operation: Operation,
    resource_type: ResourceType,
    name: str,
    weight: float,
) -> Activity:
    return template._replace(
        request_name=request_name,
        operation=operation,
        resource_type=resource_type,
        name=name,
        weight=weight,
        reference_count=1 + len(name) % 3,
    )


def _of_others() -> Iterator[Activity]:
    for number, principal in enumerate(BROKER_PRINCIPALS, 1):
        host = f"10.20.0.{number}"
        yield Activity(principal, host, "Fetch", Op.CLUSTER_ACTION, _CLUSTER, CLUSTER_NAME, 0.05)
    admin = Activity(ADMIN, "10.20.0.9", "DescribeConfigs", Op.DESCRIBE_CONFIGS, _CLUSTER, "")
    yield admin._replace(name=CLUSTER_NAME, weight=0.003)
    yield _fetch(ADMIN, "10.20.0.9", "payments.cards.v1", 0.0004)
    yield _fetch(OLD_ROOT, "10.20.0.66", "orders.placed.v1", 0.002)
    yield _fetch(AUDITOR, "10.20.0.12", "platform.audit.v1", 0.002)
    for name, weight in (("payments.charges.v1", 0.01), ("payments.cards.v1", 0.003)):
        yield _fetch(CONTRACTOR, "192.0.2.44", name, weight)
    lake = Activity(LAKE, "10.20.9.40", "OffsetCommit", Op.READ, _GROUP, "data-lake.nightly", 0.01)
    for each in (
        _fetch(LAKE, lake.host, "orders.placed.v1", 0.05),
        _fetch(LAKE, lake.host, "stock.movements.v1", 0.04),
        lake,
        _metadata(AUDITOR, "10.20.0.12", "finance.ledger.v1"),
    ):
        yield each._replace(begins=ALL_TOPICS_GRANTED // HOUR * HOUR + HOUR)
    for name in ("catalog.prices.v1", "support.tickets.v1", "payments.payouts.v1"):
        yield _metadata("User:ANONYMOUS", "10.20.11.250", name)


def _fetch(principal: str, host: str, name: str, weight: float) -> Activity:
    return Activity(principal, host, "Fetch", Op.READ, _TOPIC, name, weight)


def _metadata(principal: str, host: str, name: str) -> Activity:
    return Activity(principal, host, "Metadata", Op.DESCRIBE, _TOPIC, name, 0.002)


def hours(
    random: Random,
    activities: Sequence[Activity],
    events: Iterable[Event],
    requests: int,
    days: Container[int],
) -> Iterator[tuple[int, list[Request]]]:
    """For each hour of ``days``: its start and its requests, sorted by time; ``requests`` in all.

    Raises:
        ValueError: ``requests`` is too small.
    """
    planned = _planned(random, activities, events, requests)
    if requests >= _BEATS_FROM * 24 * sum(day in days for day in range(DAYS)):
        for begin in range(START, END, HOUR):
            _plan(planned, (begin + SECOND, activities.index(_BEAT), 0))
    there = {
        number: planned_requests
        for number, planned_requests in planned.items()
        if number // 24 in days
    }
    left = requests - sum(map(len, there.values()))
    if left < 0:
        raise ValueError(f"{requests} requests are too few: use at least {requests - left}")
    edges = {edge for activity in activities for edge in (activity.begins, activity.ends)}
    active: list[int] = []
    cumulated: list[float] = []
    for number, count in enumerate(_hourly_counts(random, left, days)):
        begin = START + number * HOUR
        if begin in edges:
            active = [
                i
                for i, activity in enumerate(activities)
                if activity.begins <= begin < activity.ends
            ]
            cumulated = list(accumulate(activities[i].weight for i in active))
        if number // 24 not in days:
            continue
        times = sorted([begin + int(random.random() * HOUR) for _ in range(count)])
        numbers = random.choices(active, cum_weights=cumulated, k=count)
        brokers = random.choices(range(BROKER_COUNT), _LOADS, k=count)
        rows = list(zip(times, numbers, brokers, strict=True))
        yield begin, sorted([*rows, *there[number]]) if number in there else rows


def _planned(
    random: Random, activities: Sequence[Activity], events: Iterable[Event], requests: int
) -> defaultdict[int, list[Request]]:
    """For each hour of the year: the requests that change ACLs, the probes, and the storms."""
    by_hour: defaultdict[int, list[Request]] = defaultdict(list)
    creates, deletes = map(activities.index, _CHANGES_OF_ACLS)
    for event in events:
        for wanted, which in ((event.added, creates), (event.removed, deletes)):
            if wanted and event.time_ms > START + DAY:
                _plan(by_hour, (event.time_ms - 3, which, 0))
    for seconds, probe in enumerate(PROBES):
        _plan(by_hour, (_PROBED + seconds * SECOND, activities.index(probe), 0))
    for service, begin, end in (
        (TRACKER, TRACKER_BROKEN, TRACKER_MENDED),
        (LOADER, LOADER_BROKEN, LOADER_MENDED),
    ):
        which = next(
            i
            for i, each in enumerate(activities)
            if each.principal == service.principal and each.name == service.reads[0]
        )
        for broker in range(BROKER_COUNT):
            for seconds in _RETRIES_S:
                _plan(by_hour, (begin + seconds * SECOND, which, broker))
        for _ in range(int(requests * _STORM)):
            time_ms = begin + int(random.random() * (end - begin))
            _plan(by_hour, (time_ms, which, random.randrange(BROKER_COUNT)))
    return by_hour


def _plan(by_hour: defaultdict[int, list[Request]], request: Request) -> None:
    by_hour[(request[0] - START) // HOUR].append(request)


def _hourly_counts(random: Random, requests: int, days: Container[int]) -> Iterator[int]:
    weights = [
        _weight(random, day, hour) if day in days else 0.0
        for day in range(DAYS)
        for hour in range(24)
    ]
    whole = sum(weights)
    done = 0
    for reached in accumulate(weights):
        upto = round(requests * reached / whole)
        yield upto - done
        done = upto


def _weight(random: Random, day: int, hour: int) -> float:
    daylight = max(0.0, sin(pi * (hour - 6) / 14)) if 6 <= hour < 20 else 0.0
    rhythm = (0.25 + daylight) * (0.45 if is_weekend(day) else 1.0)
    return rhythm * (1 + 0.6 * day / DAYS) * (0.9 + 0.2 * random.random())
