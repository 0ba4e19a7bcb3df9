"""The effect of a change of ACLs on decisions, without a specification. A further DENY allows
nothing more. A removed ALLOW allows nothing more, unless resources without ACLs are open. The order
of loading and other names for principals change nothing."""

from __future__ import annotations

from random import Random

from authorizer import Acl, Action, PermissionType, RequestContext, StandardAuthorizer
from authorizer.api import ResourcePattern
from authorizer.trace import Question
from tests.prove.promise import Promise
from tests.support.worlds.small_world import random_acl, random_question

WORLDS, QUESTIONS, ACLS = 40, 12, 12
OTHER_NAMES = {"User:a": "User:zoë", "User:b": "User:a:b", "Group:a": "Group:b"}


def unit(seed: int) -> int:
    random = Random(seed)
    for _ in range(WORLDS):
        acls = list(dict.fromkeys(random_acl(random) for _ in range(random.randrange(1, ACLS))))
        everyone, kafka = random.random() < 0.5, random.choice(("4.3", "4.4"))
        asked = [random_question(random) for _ in range(QUESTIONS)]
        before = answers(acls, asked, everyone=everyone, kafka=kafka)

        denial = random_acl(random)._replace(permission_type=PermissionType.DENY)
        with_denial = answers([*acls, denial], asked, everyone=everyone, kafka=kafka)
        assert with_denial <= before, (seed, acls, denial)

        gone = random.choice(acls)
        if gone.permission_type is PermissionType.ALLOW:
            rest = [each for each in acls if each != gone]
            closed = answers(acls, asked, everyone=False, kafka=kafka)
            assert answers(rest, asked, everyone=False, kafka=kafka) <= closed, (seed, acls, gone)

        shuffled = random.sample(acls, len(acls))
        assert answers(shuffled, asked, everyone=everyone, kafka=kafka) == before, (seed, acls)

        renamed = [each._replace(principal=other(each.principal)) for each in acls]
        as_others = [each._replace(principal=other(each.principal)) for each in asked]
        assert answers(renamed, as_others, everyone=everyone, kafka=kafka) == before, (seed, acls)
    return WORLDS * QUESTIONS * 4


def other(principal: str) -> str:
    return OTHER_NAMES.get(principal, principal)


def answers(acls: list[Acl], asked: list[Question], *, everyone: bool, kafka: str) -> set[int]:
    authorizer = StandardAuthorizer.from_acls(
        acls, allow_everyone=everyone, kafka_version=kafka, tolerant=True
    )
    return {number for number, each in enumerate(asked) if is_allowed(authorizer, each)}


def is_allowed(authorizer: StandardAuthorizer, asked: Question) -> bool:
    return authorizer.is_allowed(
        RequestContext(asked.principal, asked.host or "10.0.0.1"),
        Action(asked.operation, ResourcePattern(asked.resource_type, asked.resource_name)),
    )


PROMISE = Promise("metamorphic", "an answer before and after a change of the ACLs", unit)
