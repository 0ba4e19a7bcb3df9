"""ACLs with codes that Kafka's tools never write, and questions about them, compared with Kafka.
Every odd code is tried in every field. Where Kafka throws,
docs/reference/requests-kafka-cannot-decide.md states our answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from authorizer import (
    Acl,
    Action,
    AuthorizerConfig,
    Operation,
    PatternType,
    PermissionType,
    RequestContext,
    ResourcePattern,
    ResourceType,
    StandardAuthorizer,
)
from authorizer.analysis.access.who_can import who_can
from authorizer.engine.bulk import BulkDecider, RequestColumns
from authorizer.engine.index import AclIndex
from authorizer.trace import Question, trace
from metalog.errors import InvalidRequest
from tests.support.kafka.authorizer import KafkaQuestion, KafkaWorld, kafkas_answers
from tests.support.kafka.tools import KafkaTools
from tests.support.worlds.small_acls import allow

PLAIN = allow("ab", principal="User:a")
DENY = PLAIN._replace(permission_type=PermissionType.DENY)
NAMES = ("a", "ab", "*")
BESIDE = (
    (),
    (PLAIN,),
    (PLAIN._replace(resource_name="a", pattern_type=PatternType.PREFIXED),),
    (PLAIN._replace(resource_name="*"),),
    (PLAIN, DENY._replace(resource_name="*", principal="User:b")),
)
THROWS = "IllegalArgumentException"
QUESTIONS = [
    KafkaQuestion("User:a", "1.1.1.1", operation, resource_type, name)
    for operation in (*list(Operation)[:4], Operation.DESCRIBE)
    for resource_type in (ResourceType.UNKNOWN, ResourceType.ANY, ResourceType.TOPIC)
    for name in ("ab", "abc", None)
]


def _odd_acls() -> Iterator[Acl]:
    for acl, name in product((PLAIN, DENY), NAMES):
        named = acl._replace(resource_name=name)
        yield from (named._replace(permission_type=code) for code in PermissionType)
        yield from (named._replace(pattern_type=code) for code in PatternType)
        yield from (named._replace(operation=code) for code in list(Operation)[:4])
        yield from (named._replace(resource_type=code) for code in list(ResourceType)[:3])


def _worlds() -> list[KafkaWorld]:
    sets = {tuple(dict.fromkeys((odd, *beside))) for odd in _odd_acls() for beside in BESIDE}
    return [KafkaWorld(acls, QUESTIONS) for acls in sorted(sets)]


def _cannot_be_listed(acl: Acl) -> bool:
    """Kafka cannot make a binding of it, so it throws at any listing of bindings."""
    return (
        ResourceType.ANY is acl.resource_type
        or acl.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation is Operation.ANY
        or acl.permission_type is PermissionType.ANY
    )


def _authorizer_of(acls: Iterable[Acl]) -> StandardAuthorizer:
    return StandardAuthorizer.from_acls(acls, tolerant=True)


def _ours(authorizer: StandardAuthorizer, question: KafkaQuestion) -> str:
    principal, host, operation, resource_type, name = question
    context = RequestContext(principal, host)
    try:
        if name is None:
            return authorizer.authorize_by_resource_type(context, operation, resource_type).name
        action = Action(operation, ResourcePattern(resource_type, name))
        return authorizer.authorize(context, [action])[0].name
    except InvalidRequest:
        return THROWS


def test_odd_codes_are_answered_as_by_kafka(kafka_tools: KafkaTools) -> None:
    worlds = _worlds()
    answers = kafkas_answers(kafka_tools, worlds)
    kinds = set()
    for world, answered in zip(worlds, answers, strict=True):
        authorizer = _authorizer_of(world.acls)
        listed = _authorizer_of(acl for acl in world.acls if not _cannot_be_listed(acl))
        for question, kafkas in zip(QUESTIONS, answered, strict=True):
            ours = _ours(authorizer, question)
            kinds.add((question.name is None, kafkas, ours))
            if kafkas == THROWS and ours != THROWS:
                assert question.name is None
                assert any(map(_cannot_be_listed, world.acls)), (world.acls, question)
                assert ours == _ours(listed, question), (world.acls, question)
            else:
                assert ours == kafkas, (world.acls, question)
            if question.name is not None and ours != THROWS:
                _hold_other_paths_against(ours == "ALLOWED", world, question)
    assert {kind[1:] for kind in kinds} >= {("ALLOWED",) * 2, ("DENIED",) * 2, (THROWS,) * 2}


def _hold_other_paths_against(allowed: bool, world: KafkaWorld, question: KafkaQuestion) -> None:
    """Compares every other path that decides on a name."""
    principal, host, operation, resource_type, name = question
    assert name is not None
    config = AuthorizerConfig()
    columns = RequestColumns([principal], [host], [operation.name], [resource_type.name], [name])
    assert BulkDecider(AclIndex.of(world.acls), config).allowed(columns) == [allowed]
    asked = Question(principal, operation, resource_type, name, host)
    assert trace(world.acls, config, asked).allowed is allowed
    holders = who_can(world.acls, config, operation, resource_type, name, host).holders
    holder = next((each for each in holders if each.principal == principal), holders[-1])
    assert holder.allowed is allowed
