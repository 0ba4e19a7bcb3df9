"""Witnesses of claims and of differences, asked of Kafka's own authorizers."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from authorizer.analysis.cells.claims import AccessClaim, ClaimKind, prove
from authorizer.analysis.cells.difference import SetComparison
from authorizer.analysis.cells.meaning import access_changes
from authorizer.kafka_version import KafkaVersion
from tests.support.kafka.authorizer import KafkaQuestion, KafkaWorld, kafkas_answers
from tests.support.worlds.random_worlds import World, acl, acls, requests, world

if TYPE_CHECKING:
    from authorizer.trace import Question
    from metalog.acl import Acl
    from tests.support.kafka.tools import KafkaTools

WORLDS = 70


def test_kafka_answers_each_witness_as_it_says(
    kafka_tools: KafkaTools, newest_kafka_tools: KafkaTools
) -> None:
    for kafka, tools in ((KafkaVersion.V4_3, kafka_tools), (KafkaVersion.V4_4, newest_kafka_tools)):
        random = Random(44)
        asked: list[tuple[KafkaWorld, bool]] = []
        for _ in range(WORLDS):
            small = world(random, 3)
            small = small._replace(config=small.config._replace(kafka_version=kafka))
            before = acls(random, small)
            claim = AccessClaim(
                random.choice((ClaimKind.DENY, ClaimKind.ALLOW)), (requests(random, small),)
            )
            witness = prove(before, small.config, claim).witness
            if witness is not None:
                asked.append((_world(before, small, witness.question), witness.is_allowed))
            after = [*before[1:], acl(random, small)]
            for change in access_changes(SetComparison(before, after, small.config)):
                asked.append((_world(before, small, change.witness), change.before))
                asked.append((_world(after, small, change.witness), change.after))
        answers = kafkas_answers(tools, (each for each, _ in asked))
        expected = [["ALLOWED" if allowed else "DENIED"] for _, allowed in asked]
        assert len(asked) > WORLDS
        assert answers == expected


def _world(rules: list[Acl], small: World, question: Question) -> KafkaWorld:
    assert question.host is not None
    asked = KafkaQuestion(
        question.principal,
        question.host,
        question.operation,
        question.resource_type,
        question.resource_name,
    )
    config = small.config
    return KafkaWorld(
        list(dict.fromkeys(rules)), [asked], config.allow_everyone, sorted(config.super_users)
    )
