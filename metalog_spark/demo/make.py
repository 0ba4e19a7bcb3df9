"""Makes the demo's year: a metadata log, and the brokers' audit logs and configurations.

- ``OUT/log``: a ``metadata.log.dir``;
- ``OUT/audit/BROKER/``: compressed audit files, one per month;
- ``OUT/config``: the brokers' ``server.properties`` before and after the middle of the year;
- ``OUT/owners.yaml``: the owners of principals and topics;
- ``OUT/truth.json``: the numbers of requests and lines, and the lines that contradict the ACLs.

This module must not know Spark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from authorizer.config import from_properties
from metalog.errors import InvalidRequest
from metalog_spark.demo.brokers import LineTally, write_audit
from metalog_spark.demo.calendar import DAY, HOUR, START, YEAR, stamp
from metalog_spark.demo.company import TEAMS, Service, all_services, topics
from metalog_spark.demo.decider import BrokerDecider
from metalog_spark.demo.log import write_log
from metalog_spark.demo.story import CONFIG_CHANGED, TopicMigration, story, topic_migrations
from metalog_spark.demo.traffic import (
    ADMIN,
    BROKER_PRINCIPALS,
    OLD_ROOT,
    Request,
    activities,
    hours,
)

CHANGES: Final = 2_000
REQUESTS: Final = 5_000_000
LEAST_REQUESTS: Final = 2_000
SEED: Final = 7

ProgressReport = Callable[[str, int, int], None]
"""Gets the current step's name, the number of finished items, and the number of all items."""


class Made(NamedTuple):
    """``configs`` has, for each ISO 8601 time, the configuration that comes into force."""

    log: Path
    audit: Path
    configs: Mapping[str, Path]
    owners: Path
    tally: LineTally


def make(
    out: Path,
    *,
    requests: int = REQUESTS,
    seed: int = SEED,
    days: range = YEAR,
    report: ProgressReport,
) -> Made:
    """Make the year in the empty folder ``out``. The audit logs cover only ``days``."""
    check_requests(requests)
    random = Random(seed)  # noqa: S311  the values need not be hard to guess
    services = all_services(random)
    migrations = topic_migrations(random, services)
    events = story(random, services, migrations, CHANGES)
    report("writing the metadata log", 0, len(events))
    log, audit = out / "log", out / "audit"
    changes = write_log(log, random, events, _creation_times(migrations), _users(services))
    properties = _properties()
    configurations = [(begin, from_properties(keys)[0]) for begin, keys in properties.items()]
    activities_of_year = activities(random, services, migrations)
    decider = BrokerDecider(changes, configurations, activities_of_year)
    year = hours(random, activities_of_year, events, requests, days)
    tally = write_audit(audit, decider, activities_of_year, _with_progress(year, requests, report))
    owners = out / "owners.yaml"
    owners.write_text("".join(_owners(services)), encoding="utf-8")
    made = Made(log, audit, dict(_write_configs(out / "config", properties)), owners, tally)
    (out / "truth.json").write_text(json.dumps(_truth(tally), indent=2) + "\n", encoding="utf-8")
    return made


def check_requests(number: int) -> None:
    """``InvalidRequest`` if ``number`` is too small for a year."""
    if number < LEAST_REQUESTS:
        raise InvalidRequest(f"--requests {number}: a year needs {LEAST_REQUESTS:,} or more")


def _creation_times(migrations: Iterable[TopicMigration]) -> dict[str, int]:
    created = dict.fromkeys(topics(), START + HOUR)
    for each in sorted(migrations, reverse=True, key=lambda migration: migration.time_ms):
        created[each.second] = each.time_ms - HOUR
    return created


def _users(services: Iterable[Service]) -> dict[str, int]:
    named = {
        service.name: START + service.begins * DAY + HOUR
        for service in services
        if not service.has_certificate
    }
    people = (ADMIN, OLD_ROOT)
    return named | {person.removeprefix("User:"): START + HOUR for person in people}


def _properties() -> dict[int, dict[str, str]]:
    common = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    supers = (ADMIN, *BROKER_PRINCIPALS)
    return {
        START: {
            **common,
            "super.users": ";".join([*supers, OLD_ROOT]),
            "allow.everyone.if.no.acl.found": "true",
        },
        CONFIG_CHANGED: {**common, "super.users": ";".join(supers)},
    }


def _write_configs(
    folder: Path, properties: Mapping[int, Mapping[str, str]]
) -> Iterator[tuple[str, Path]]:
    folder.mkdir()
    for begin, each in properties.items():
        moment = stamp(begin)[:19].replace(" ", "T")
        path = folder / f"server-{moment[:10]}.properties"
        lines = [f"{key}={value}\n" for key, value in each.items()]
        path.write_text("".join(lines), encoding="utf-8")
        yield moment, path


def _owners(services: Iterable[Service]) -> Iterator[str]:
    for team in TEAMS:
        principals = [service.principal for service in services if service.team == team]
        yield f"{team}:\n"
        yield f"  - principal: {json.dumps(principals)}\n"
        yield f"  - resourceType: TOPIC\n    resourceName: {team}.\n    patternType: PREFIXED\n"


def _with_progress(
    year: Iterator[tuple[int, list[Request]]], requests: int, report: ProgressReport
) -> Iterator[tuple[int, list[Request]]]:
    done = 0
    for begin, hour in year:
        yield begin, hour
        done += len(hour)
        report("writing the audit logs", done, requests)


def _truth(tally: LineTally) -> dict[str, Any]:
    return {
        "aclChanges": CHANGES,
        "requests": tally.requests,
        "unlogged": tally.unlogged,
        "allowed": tally.allowed,
        "denied": tally.denied,
        "rejected": tally.rejected,
        "ambiguous": tally.ambiguous,
        "disagreements": [disagreement._asdict() for disagreement in tally.disagreements],
    }
