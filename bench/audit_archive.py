"""Makes the input of whole builds for measuring: a cluster's metadata log and audit logs.

Lines have Kafka's own form, with log4j's time. The same seed gives the same bytes. Nothing here
measures.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice
from pathlib import Path
from typing import Final, NamedTuple

PRINCIPALS: Final = 500
RESOURCES: Final = 3_000
_QUESTIONS: Final = 20_000
_START: Final = datetime(2025, 1, 1, tzinfo=UTC)
_ACLS_A_RESOURCE: Final = 3
_OPERATIONS: Final = (("READ", "Fetch"), ("WRITE", "Produce"), ("DESCRIBE", "Metadata"))
_AT_ONCE: Final = 50_000
_LINES_A_FRIEND: Final = 20


class AuditTraffic(NamedTuple):
    """The shape of the audit logs: ``a_day`` lines per day. With ``is_distinct``, each line names a
    different resource. With ``strangers``, nineteen of twenty lines are denials, each for a
    different principal."""

    name: str
    is_distinct: bool
    a_day: int = 1_000_000
    strangers: bool = False


REAL: Final = AuditTraffic("real", is_distinct=False)
HARD: Final = AuditTraffic("hard", is_distinct=True)
STRANGERS: Final = AuditTraffic("strangers", is_distinct=False, strangers=True)


def write_log(folder: Path) -> None:
    """Write the metadata log: three ACLs per resource, and a change of one ACL in every hour of the
    year's first month."""
    from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
    from metalog.ids import Uuid
    from metalog.log.folder.layout import PARTITION_FOLDER, segment_name
    from metalog.records.acl_codes import record_of
    from metalog.records.batch import batch_bytes, build_batch
    from metalog.records.messages import AccessControlEntryRecord, LeaderChangeMessage

    def record(number: int) -> AccessControlEntryRecord:
        resource, place = divmod(number, _ACLS_A_RESOURCE)
        acl = Acl(
            ResourceType.TOPIC,
            resource_name(resource),
            PatternType.LITERAL,
            principal((resource + place * 7) % PRINCIPALS),
            "*",
            Operation[_OPERATIONS[place][0]],
            PermissionType.ALLOW,
        )
        return record_of(Uuid(number.to_bytes(16, "big")), acl)

    start_ms = int(_START.timestamp() * 1000)
    records = list(map(record, range(RESOURCES * _ACLS_A_RESOURCE)))
    cut = len(records) - 24 * 30
    batches = [build_batch(0, 1, start_ms - 1000, [(LeaderChangeMessage(0, 1), 0)])]
    offset = 1
    for begin in range(0, cut, 1000):
        some = records[begin : min(begin + 1000, cut)]
        batches.append(build_batch(offset, 1, start_ms - 900, [(entry, 0) for entry in some]))
        offset += len(some)
    for hour, each in enumerate(records[cut:]):
        batches.append(build_batch(offset + hour, 1, start_ms + hour * 3_600_000, [(each, 0)]))
    path = folder / PARTITION_FOLDER / segment_name(0)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(map(batch_bytes, batches)))


def principal(number: int) -> str:
    return f"User:service-{number:03d}"


def resource_name(number: int) -> str:
    return f"team-{number % 50:02d}.orders.events-{number:04d}"


def lines(traffic: AuditTraffic, count: int, seed: int = 7) -> Iterator[str]:
    """``count`` lines in order of time."""
    chance = random.Random(seed)
    rests = [_rest(chance) for _ in range(_QUESTIONS)]
    skew = list(accumulate(1 / (place + 10) for place in range(_QUESTIONS)))
    step = timedelta(days=1) / traffic.a_day
    for begin in range(0, count, _AT_ONCE):
        some = chance.choices(rests, cum_weights=skew, k=min(_AT_ONCE, count - begin))
        for number, rest in enumerate(some, begin):
            if traffic.strangers and number % _LINES_A_FRIEND:
                line = _stranger(number)
            else:
                line = rest(number if traffic.is_distinct else None)
            yield _stamp(_START + number * step) + line


def _stranger(number: int) -> str:
    name = resource_name(number % RESOURCES)
    return (
        f"Principal = User:CN=client-{number:09d} is Denied operation = READ from host = 10.9.9.9"
        f" on resource = Topic:LITERAL:{name} for request = Fetch with resourceRefCount = 1 based"
        " on rule DefaultDeny (kafka.authorizer.logger)\n"
    )


def _stamp(time: datetime) -> str:
    return f"[{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03d}] DEBUG "


def _rest(chance: random.Random) -> Callable[[int | None], str]:
    resource = chance.randrange(RESOURCES)
    place = chance.randrange(_ACLS_A_RESOURCE)
    operation, request = _OPERATIONS[place]
    is_allowed = chance.random() < 0.95
    shift = place * 7 if is_allowed else 3
    who = principal((resource + shift) % PRINCIPALS)
    host = f"10.{resource % 4}.{chance.randrange(16)}.{chance.randrange(1, 9)}"
    name = resource_name(resource)
    rule = (
        f"MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName={name},"
        f" patternType=LITERAL, principal={who}, host=*, operation={operation},"
        " permissionType=ALLOW))"
        if is_allowed
        else "DefaultDeny"
    )
    begin = (
        f"Principal = {who} is {'Allowed' if is_allowed else 'Denied'} operation = {operation}"
        f" from host = {host} on resource = Topic:LITERAL:{name}"
    )
    end = (
        f" for request = {request} with resourceRefCount = 1 based on rule {rule}"
        " (kafka.authorizer.logger)\n"
    )
    return lambda number: f"{begin}{end}" if number is None else f"{begin}-{number}{end}"


def write_file(path: Path, traffic: AuditTraffic, count: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines(traffic, count))


def write_small_files(folder: Path, count: int, lines_each: int) -> None:
    """Write one file per hour for each of thirty brokers, as Kafka rolls its files by default."""
    source = lines(
        AuditTraffic("small", is_distinct=False, a_day=24 * 30 * lines_each), count * lines_each
    )
    for number in range(count):
        hour, broker = divmod(number, 30)
        time = _START + timedelta(hours=hour)
        path = folder / f"broker-{broker:02d}" / f"kafka-authorizer.log.{time:%Y-%m-%d-%H}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(islice(source, lines_each)), encoding="utf-8")
