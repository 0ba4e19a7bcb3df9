"""The least set that Spark finds is that of the spec, which has all names in one list."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

import pytest

from authorizer.config import AuthorizerConfig
from authorizer.trace import is_allow, reaches
from metalog.acl import (
    IMPLIED_BY,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    ResourceType,
)
from metalog_spark.findings.usage.cover_job import Total, cover, done_in, totals
from metalog_spark.findings.usage.minimal_cover import CoverLimits, is_expressible, staying
from metalog_spark.findings.usage.name_intervals import places, ranked
from metalog_spark.findings.usage.resource_names import ranks_in, resource_names
from metalog_spark.findings.windows.questions import QUESTION_COLUMNS, rules
from metalog_spark.store.arrow import frame_of
from tests.support.worlds import spec
from tests.support.worlds.least_cover import Did, Names, least
from tests.support.worlds.small_acls import allow, deny

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORLDS = 100
SUPER = "User:super"
HOSTS = ["10.0.0.1", "10.0.0.2"]
OPERATIONS = [Operation.READ, Operation.WRITE, Operation.ALTER_CONFIGS]
IMPLIED = [Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS]
KINDS = [ResourceType.TOPIC, ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER]
ENDS = ["a", "a.b", "a.c", "a.d-x", "a.d-y", "a.e.f", "a.e.g", "b-", "b_c", "b_d", "b_e", ""]
QUESTIONS = (
    f"{', '.join(f'{name} STRING' for name in QUESTION_COLUMNS)}, result STRING, requests BIGINT"
)
Question = tuple[str, str, str, str, str, str, int]


def startswith(begin: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(begin)


class Worlds:
    """Principals that each have names, ACLs and requests of their own, beside some of everybody's;
    so one job is many cases."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        principals = [f"User:{number}" for number in range(WORLDS)]
        shared = ["shop.carts", "shop.orders", "shop.refunds", "*", "", "*-a", "kafka-cluster"]
        self.acls: set[Acl] = {deny("shop.refunds", principal=WILDCARD_PRINCIPAL)}
        questions: dict[tuple[str, ...], Question] = {}
        for principal in [*principals, WILDCARD_PRINCIPAL, SUPER]:
            own = principal.removeprefix("User:")
            names = [*(f"{own}.{end}" for end in ENDS), *shared]
            operations = random.sample([*OPERATIONS, *IMPLIED], 3)
            for _ in range(random.randrange(8)):
                wide = random.choice(["*", f"{own}.", f"{own}.a.", "shop.", f"{own}.b"])
                name = random.choice([*names, *[wide] * 40])
                acl = allow(
                    name,
                    random.choice([*operations, Operation.ALL]),
                    principal,
                    host=random.choice([WILDCARD, WILDCARD, *HOSTS]),
                    prefixed=name not in ("", WILDCARD) and random.random() < 0.6,
                    kind=random.choice(KINDS),
                )
                self.acls.add(acl)
            for _ in range(random.randrange(9) if principal != WILDCARD_PRINCIPAL else 0):
                what = random.choice(operations).name, random.choice(KINDS).name
                begin = random.choice([*names, f"{own}.", f"{own}.a.", f"{own}.b"])
                for name in filter(startswith(begin), names):
                    asked = principal, random.choice(HOSTS), *what, name
                    result = random.choice(["DENIED", *["ALLOWED"] * 40])
                    questions[asked] = *asked, result, random.randrange(1, 4)
        self.questions = sorted(questions.values())
        self.today = sorted(self.acls)
        self.config = AuthorizerConfig(frozenset({SUPER}), allow_everyone=True)
        self.kept = [acl for acl in self.today if is_allow(acl) and random.random() < 0.05]

    @property
    def names(self) -> Names:
        found: dict[ResourceType, set[str]] = {}
        for *_, kind, name, result, _ in self.questions:
            if result == "ALLOWED":
                found.setdefault(ResourceType[kind], set()).add(name)
        for acl in self.today:
            if acl.pattern_type is PatternType.LITERAL and acl.resource_name != WILDCARD:
                found.setdefault(acl.resource_type, set()).add(acl.resource_name)
        return {kind: sorted(own) for kind, own in found.items()}

    def did(self) -> dict[str, list[tuple[Did, int]]]:
        """What today's ACLs still allow, by the spec's scan."""
        found: dict[str, list[tuple[Did, int]]] = {}
        for principal, host, word, kind, name, result, requests in self.questions:
            operation, of = Operation[word], ResourceType[kind]
            who = frozenset({principal}), host
            answer = spec.decide(self.today, who, operation, of, name, True).result.value
            if (result, answer) != ("ALLOWED", "ALLOWED") or principal == SUPER:
                continue
            allows = [
                acl
                for acl in self.today
                if is_allow(acl)
                and acl.principal in (principal, WILDCARD_PRINCIPAL)
                and acl.host in (host, WILDCARD)
                and acl.operation in (operation, Operation.ALL, *IMPLIED_BY.get(operation, ()))
                and reaches(acl, of, name)
            ]
            wide = [acl for acl in allows if acl.host == WILDCARD]
            whence = WILDCARD if wide or not allows else host
            each = Did(operation, of, name, whence, frozenset(wide or allows))
            found.setdefault(principal, []).append((each, requests))
        return found


@pytest.mark.parametrize(
    "limits", [CoverLimits(), CoverLimits(2, 0.4), CoverLimits(0)], ids=["usual", "slack", "names"]
)
def test_the_least_set_is_that_of_the_spec(spark: SparkSession, limits: CoverLimits) -> None:
    worlds = Worlds(seed=limits.prefix_from)
    did, names, kept = worlds.did(), worlds.names, worlds.kept
    unsayable = [each.by for own in did.values() for each, _ in own if not _is_expressible(each)]
    given = [*kept, *staying(unsayable, kept)]
    expected = set(given)
    for principal, own in did.items():
        today = [
            acl
            for acl in worlds.today
            if is_allow(acl) and acl.principal in (principal, WILDCARD_PRINCIPAL)
        ]
        expected |= {*least(principal, [each for each, _ in own], today, given, names, limits)}

    now = rules(worlds.today, worlds.config)
    questions = frame_of(spark, worlds.questions, QUESTIONS)
    done, known = done_in(questions, now, 1).persist(), resource_names(questions, worlds.today)
    found = cover(done, known, now, kept, limits)
    assert len(found) == len(set(found))
    assert {*kept, *found} == expected
    kinds = {acl.pattern_type for acl in set(found) - {*given}}
    assert (PatternType.PREFIXED in kinds) == (limits.prefix_from > 0)

    some = sorted(did)[::2]
    assert totals(done, some) == {
        principal: Total(
            len({each[:3] for each, _ in did[principal]}),
            sum(requests for _, requests in did[principal]),
        )
        for principal in some
    }
    acls = [*worlds.today, *found]
    for kind, ranks in ranks_in(known, acls).items():
        edges = [edge for edge in ranks if edge is not None]
        assert ranks == ranked(edges, places(names.get(kind, ()), edges))
    done.unpersist()


def _is_expressible(each: Did) -> bool:
    return is_expressible(allow(each.name, each.operation, kind=each.resource_type))
