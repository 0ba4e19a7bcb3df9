"""Decisions compared with Kafka's own authorizers after histories of changes. Ours gets the ACLs
one by one, with removals and repetitions; Kafka's gets the final set. One Java process for each
version answers a unit's worlds."""

from __future__ import annotations

from random import Random

from authorizer import Action, RequestContext, StandardAuthorizer
from authorizer.api import ResourcePattern
from metalog.acl import Acl
from metalog.ids import Uuid
from tests.prove.promise import Promise
from tests.support.kafka.authorizer import KafkaQuestion, KafkaWorld, kafkas_answers
from tests.support.kafka.tools import JARS, NEWEST_JARS, KafkaTools
from tests.support.worlds.small_world import random_acl, random_question

WORLDS, QUESTIONS, CHANGES = 250, 24, 30
RELEASES = (("4.3", JARS), ("4.4", NEWEST_JARS))


def unit(seed: int) -> int:
    random = Random(seed)
    for release, jars in RELEASES:
        worlds, ours = [], []
        for _ in range(WORLDS):
            world, answers = changed_world(random, release)
            worlds.append(world)
            ours.append(answers)
        for world, kafkas, answers in zip(
            worlds, kafkas_answers(KafkaTools(jars), worlds), ours, strict=True
        ):
            assert kafkas == answers, (seed, release, world)
    return len(RELEASES) * WORLDS * QUESTIONS


def changed_world(random: Random, release: str) -> tuple[KafkaWorld, list[str]]:
    everyone = random.random() < 0.3
    super_users = random.choice(([], ["User:b"]))
    authorizer = StandardAuthorizer.configured(
        {
            "allow.everyone.if.no.acl.found": str(everyone).lower(),
            "super.users": ";".join(super_users),
            "kafka.version": release,
        }
    )
    authorizer.complete_initial_load()
    questions = [question(random) for _ in range(QUESTIONS)]
    acls = changed(random, authorizer, questions)
    answers = [answer(authorizer, each) for each in questions]
    return KafkaWorld(acls, questions, everyone, super_users), answers


def changed(
    random: Random, authorizer: StandardAuthorizer, questions: list[KafkaQuestion]
) -> list[Acl]:
    """The ACLs after some changes; ``authorizer`` answers in between."""
    by_id: dict[Uuid, Acl] = {}
    for number in range(random.randrange(CHANGES)):
        if by_id and random.random() < 0.3:
            gone = random.choice(list(by_id))
            del by_id[gone]
            authorizer.remove_acl(gone)
        else:
            uuid = Uuid(number.to_bytes(16, "big"))
            by_id[uuid] = about(random, random.choice(questions))
            authorizer.add_acl(uuid, by_id[uuid])
        answer(authorizer, random.choice(questions))
    return list(dict.fromkeys(by_id.values()))


def about(random: Random, asked: KafkaQuestion) -> Acl:
    """An ACL that mostly matches the question, or nearly."""
    acl = random_acl(random)
    if random.random() < 0.7:
        acl = acl._replace(resource_type=asked.resource_type, host=random.choice(("*", acl.host)))
    if random.random() < 0.7:
        acl = acl._replace(principal=random.choice((asked.principal, "User:*")))
    if asked.name is not None and random.random() < 0.7:
        acl = acl._replace(resource_name=asked.name[: random.randrange(1, 5)])
    return acl


def question(random: Random) -> KafkaQuestion:
    asked = random_question(random)
    name = None if random.random() < 0.1 else asked.resource_name
    return KafkaQuestion(
        asked.principal, asked.host or "10.0.0.1", asked.operation, asked.resource_type, name
    )


def answer(authorizer: StandardAuthorizer, asked: KafkaQuestion) -> str:
    context = RequestContext(asked.principal, asked.host)
    if asked.name is None:
        return authorizer.authorize_by_resource_type(
            context, asked.operation, asked.resource_type
        ).name
    action = Action(asked.operation, ResourcePattern(asked.resource_type, asked.name))
    return authorizer.authorize(context, [action])[0].name


PROMISE = Promise("decisions", "a decision beside Kafka 4.3.1's or 4.4.0's own authorizer", unit)
