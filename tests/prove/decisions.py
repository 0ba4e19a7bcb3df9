"""Decisions beside those of Kafka's own authorizers, during histories of changes.

Both load the same ACLs and make the same changes, one by one, and both are asked after each few of
them: the decision, its rule, and the ACL that Kafka's audit line names. One Java process a
version answers all worlds of a unit.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from authorizer import Action, Operation, RequestContext, ResourceType, StandardAuthorizer
from authorizer.api import ResourcePattern
from metalog.acl import Acl, PatternType, PermissionType
from metalog.ids import Uuid
from tests.prove.promise import Promise
from tests.support.kafka.authorizer import Script, answers_to
from tests.support.kafka.tools import JARS, NEWEST_JARS, KafkaTools

WORLDS, STATES, SESSIONS, ACTIONS = 200, 10, 8, 12
RELEASES = (("4.3", JARS), ("4.4", NEWEST_JARS))
ALPHABETS = ("ab", "ab", "a-", "*a", "e\u0301é", "\U00010000\uffee", "a,=\\", "\u2028\x7f\ufeff")
"""Nothing below ``*``: Kafka's search may go on for ever then (facts of Kafka 4.3.1 and 4.4.0)."""
PRINCIPALS = (
    "User:a", "User:b", "User:A", "User:zoë", "User:a:b", "User:CN=a, OU=b,O=c", "User:*a",
    "User:\U0001f600", "User:\uffee", "Group:a", "user:a", "User:a ", "User:",
)  # fmt: skip
CLIENTS = (
    "10.0.0.1", "10.0.0.2", "10.255.255.255", "11.0.0.0", "0.0.0.0", "0.0.0.1", "192.168.1.1",
    "0:0:0:0:0:0:0:1", "2001:db8:0:0:0:0:0:1", "2001:db8:0:1:0:0:0:0", "fe80:0:0:0:0:0:0:1",
)  # fmt: skip
HOSTS = (
    "*", "*", "*", "10.0.0.1", "10.0.0.0/8", "10.0.0.2/31", "10.9.9.9/08", "0.0.0.0/0", "0.0.0.0/8",
    "10.0.0.0/33", "10.0.0/8", "2001:db8::/32", "2001:DB8::1/128", "2001:db8::/63", "::/0", "::1",
    "::1/128", "0:0:0:0:0:0:0:1", "::10.0.0.0/104", "::ffff:10.0.0.0/104", "10.0.0.*", "",
)  # fmt: skip
TYPES = tuple(each for each in ResourceType if each > ResourceType.ANY)
OPERATIONS = tuple(each for each in Operation if each > Operation.ANY)
USUAL = (Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)


class Draws(NamedTuple):
    """Of what a world's ACLs and questions are drawn: little, so that they meet."""

    names: list[str]
    principals: list[str]
    clients: list[str]
    types: list[ResourceType]


def unit(seed: int) -> int:
    tries = 0
    for release, jars in RELEASES:
        random, script, ours = Random(f"{seed} {release}"), Script(), list[str]()
        for _ in range(WORLDS):
            lived(random, release, script, ours)
        kafkas = answers_to(KafkaTools(jars), script, rules=True)
        for number, (kafka, our) in enumerate(zip(kafkas, ours, strict=True)):
            assert kafka == our, (seed, release, number, kafka, our)
        tries += len(ours)
    return tries


def lived(random: Random, release: str, script: Script, ours: list[str]) -> None:
    """One world, written into ``script``; our answers go to ``ours``."""
    draws = drawn(random)
    acls = list(dict.fromkeys(acl(random, draws) for _ in range(random.randrange(2, 80))))
    everyone = random.random() < 0.4
    super_users = random.choice(([], [], draws.principals[:1]))
    script.begin()
    for each in acls:
        script.acl(each)
    there = set(random.sample(range(len(acls)), random.randrange(len(acls))))
    script.load(there, allow_everyone=everyone, super_users=super_users)
    authorizer = StandardAuthorizer.configured(
        {
            "allow.everyone.if.no.acl.found": str(everyone).lower(),
            "super.users": ";".join(super_users),
            "kafka.version": release,
        }
    )
    authorizer.load_snapshot({identity(number): acls[number] for number in there})
    authorizer.complete_initial_load()
    numbers = {each: str(number) for number, each in enumerate(acls)}
    for _ in range(STATES):
        for number in random.sample(range(len(acls)), random.randrange(min(len(acls), 5))):
            if number in there:
                authorizer.remove_acl(identity(number))
                script.lines.append(f"remove\t{number}")
            else:
                authorizer.add_acl(identity(number), acls[number])
                script.lines.append(f"add\t{number}")
            there ^= {number}
        for _ in range(SESSIONS):
            asked(random, draws, authorizer, numbers, script, ours)


def identity(number: int) -> Uuid:
    return Uuid((1 << 64 | number).to_bytes(16, "big"))


def drawn(random: Random) -> Draws:
    alphabet = random.choice(ALPHABETS)
    names = {"".join(random.choices(alphabet, k=random.randrange(1, 6))) for _ in range(8)}
    stem = random.choice(sorted(names)) * random.choice((1, 1, 60))
    names |= {stem[:-1], stem + alphabet[0], "*", "kafka-cluster"}
    return Draws(
        sorted(names - {""}),
        random.sample(PRINCIPALS, 3),
        random.sample(CLIENTS, 3),
        random.sample(TYPES, random.randrange(1, 4)),
    )


def acl(random: Random, draws: Draws) -> Acl:
    name = random.choice(draws.names)
    is_prefix = random.random() < 0.5
    return Acl(
        random.choice(draws.types),
        name[: random.randrange(1, len(name) + 1)] if is_prefix else random.choice((name, "*")),
        PatternType.PREFIXED if is_prefix else PatternType.LITERAL,
        random.choice((*draws.principals, "User:*")),
        random.choice((*HOSTS, *draws.clients)),
        random.choice((*OPERATIONS, *USUAL * 3)),
        PermissionType.ALLOW if random.random() < 0.75 else PermissionType.DENY,
    )


def asked(
    random: Random,
    draws: Draws,
    authorizer: StandardAuthorizer,
    numbers: dict[Acl, str],
    script: Script,
    ours: list[str],
) -> None:
    """Some actions of one session, together or one by one, and one question about a type."""
    principal, host = random.choice(draws.principals), random.choice(draws.clients)
    session, context = script.session(principal, host), RequestContext(principal, host)
    actions = []
    for _ in range(ACTIONS):
        operation = random.choice(OPERATIONS if random.random() < 0.3 else USUAL)
        kind, name = random.choice(draws.types), random.choice(draws.names)
        actions.append(Action(operation, ResourcePattern(kind, name)))
        script.ask(session, operation, kind, script.name(name))
    if random.random() < 0.5:
        results = list(authorizer.authorize(context, actions))
    else:
        results = [authorizer.authorize(context, [each])[0] for each in actions]
    for action, result in zip(actions, results, strict=True):
        decision = authorizer.decide(context, action)
        assert decision.result is result, (context, action)
        rule = decision.rule if decision.acl is None else numbers[decision.acl]
        ours.append(f"{result.name}\t{rule}")
    script.ask(session, operation, kind, None)
    ours.append(authorizer.authorize_by_resource_type(context, operation, kind).name)


PROMISE = Promise(
    "decisions", "a decision and its ACL beside Kafka 4.3.1's or 4.4.0's own authorizer", unit
)
