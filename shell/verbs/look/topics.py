"""``metalog topics SOURCE``: the topics of a log or cluster, and the ACLs that reach each topic.

As KIP-11 planned, describing a topic shows its ACLs. This module must not know how a question is
decided.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.analysis.access.who_can import WhoCan, who_can
from authorizer.analysis.explain.json import acl_json
from authorizer.engine.decide import decision_order
from authorizer.trace import Question, reaches
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, Operation, ResourceType, java_order
from metalog.ids import uuid_text
from metalog.text.plurals import counted
from metalog.text.visible_text import shown
from metalog_sources.source_kinds import WITH_TOPICS
from shell.context import add_config, add_source, opened_source, replayed_source
from shell.inputs.queries import queries_of
from shell.output.output import Cell, Output
from shell.tasks.acl_words import sentence
from shell.tasks.queries import Queries
from shell.views.holders import differing_acls, holder_records, print_holders
from shell.views.other_kafka import say_other_result

if TYPE_CHECKING:
    from metalog.ids import Uuid
    from metalog.image.metadata import MetadataImage
    from metalog_sources.source import Source

USAGE: Final = "SOURCE [--topic NAME] [--describe] [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = True
EPILOG: Final = """\
metalog topics /var/kafka/metadata
metalog topics SOURCE --describe --topic payments     its ACLs, and who may read and write the topic

The ACLs of a topic include ACLs on prefixes of its name and on *, in Kafka's order. A cluster
lists only topics that the caller may describe. A --topic that does not exist is listed, too, with
its ACLs. Exit code: 0 listed, 1 a --topic does not exist, 2 no answer."""

_OPERATIONS: Final = (Operation.READ, Operation.WRITE)


class _Topic(NamedTuple):
    """``id`` is None if unknown; ``partitions`` is None if the topic does not exist."""

    name: str
    id: Uuid | None
    partitions: int | None
    acls: tuple[Acl, ...]


def configure(parser: ArgumentParser) -> None:
    add_source(parser, kinds=WITH_TOPICS)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--topic", action="append", metavar="NAME", help="only this topic (default: all)"
    )
    group.add_argument(
        "--describe",
        action="store_true",
        help="add the ACLs of each topic, and who may read and write the topic",
    )
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    if arguments.describe:
        queries = queries_of(arguments, output, is_whole=True)
        queries.check_ready(_question("", Operation.READ))
        topics = _topics(queries.source, queries.image, arguments.topic)
        _describe(topics, queries, output)
    else:
        source = opened_source(arguments, output)
        image = replayed_source(arguments, output, source, is_whole=True).image
        topics = _topics(source, image, arguments.topic)
        _list(topics, output)
    if not topics:
        output.note("there is no topic")
    return 1 if any(topic.partitions is None for topic in topics) else 0


def _topics(source: Source, image: MetadataImage, wanted: Sequence[str] | None) -> list[_Topic]:
    known = _ids_and_partitions(source, image)
    names = sorted(known, key=java_order) if wanted is None else list(dict.fromkeys(wanted))
    by_name = _TopicAcls(set(image.acls.by_id.values()))
    found = []
    for name in names:
        uuid, partitions = known.get(name, (None, None))
        found.append(_Topic(name, uuid, partitions, by_name.reaching(name)))
    return found


def _ids_and_partitions(source: Source, image: MetadataImage) -> dict[str, tuple[Uuid | None, int]]:
    from metalog_sources.store import TopicStore

    if source.store is None:
        return {
            name: (topic.id, len(topic.partitions)) for name, topic in image.topics.by_name.items()
        }
    if not isinstance(source.store, TopicStore):
        raise WITH_TOPICS.refusal(source.kind, source.text)
    return {each.name: (each.id, each.partitions) for each in source.store.topics()}


class _TopicAcls:
    """ACLs by resource name, so that each topic is compared with few ACLs."""

    def __init__(self, acls: Iterable[Acl]) -> None:
        self._acls: dict[str, list[Acl]] = {}
        for acl in acls:
            if acl.resource_type is ResourceType.TOPIC:
                self._acls.setdefault(acl.resource_name, []).append(acl)

    def reaching(self, name: str) -> tuple[Acl, ...]:
        """In the order in which Kafka checks the ACLs."""
        beginnings = {WILDCARD, *(name[:length] for length in range(len(name) + 1))}
        possible = (acl for begin in beginnings for acl in self._acls.get(begin, ()))
        found = (acl for acl in possible if reaches(acl, ResourceType.TOPIC, name))
        return tuple(sorted(found, key=lambda acl: decision_order(acl, name)))


def _list(topics: Sequence[_Topic], output: Output) -> None:
    if output.is_text:
        output.aligned(map(_row, topics))
        return
    for topic in topics:
        output.record(_fields(topic) | {"aclCount": len(topic.acls)})


def _row(topic: _Topic) -> list[Cell | str]:
    partitions = topic.partitions
    return [
        Cell(shown(topic.name), "strong"),
        "there is no such topic" if partitions is None else counted(partitions, "partition"),
        f"{counted(len(topic.acls), 'ACL reaches', 'ACLs reach')} it",
        "" if topic.id is None else Cell(uuid_text(topic.id), "faint"),
    ]


def _describe(topics: Sequence[_Topic], queries: Queries, output: Output) -> None:
    super_users = sorted(queries.context.config.super_users)
    for number, topic in enumerate(topics):
        if not output.is_text:
            output.record(_described(topic, queries))
            continue
        if number:
            output.line()
        output.aligned([_row(topic)])
        output.aligned(([sentence(acl)] for acl in topic.acls), indent="  ")
        for operation in _OPERATIONS:
            question = _question(topic.name, operation)
            print_holders(question, _found(question, topic, queries), (), output)
    if super_users and output.is_text:
        output.line()
        output.line(f"super users may do everything: {', '.join(map(shown, super_users))}")
    _say_if_other_kafka_differs(topics, queries, output)


def _say_if_other_kafka_differs(topics: Iterable[_Topic], queries: Queries, output: Output) -> None:
    if (other := queries.of_other_kafka) is None:
        return
    differing = [
        acl
        for topic in topics
        for question in (_question(topic.name, operation) for operation in _OPERATIONS)
        for acl in differing_acls(_found(question, topic, queries), _found(question, topic, other))
    ]
    if differing:
        say_other_result(differing, queries.context.config.kafka, output)


def _described(topic: _Topic, queries: Queries) -> dict[str, Any]:
    super_users = sorted(queries.context.config.super_users)
    described = _fields(topic) | {"acls": [acl_json(acl, queries.id_of) for acl in topic.acls]}
    for operation in _OPERATIONS:
        question = _question(topic.name, operation)
        found = _found(question, topic, queries)
        records = list(holder_records(question, found, super_users, queries))
        described[operation.name.lower()] = records
    return described


def _question(name: str, operation: Operation) -> Question:
    return Question(WILDCARD_PRINCIPAL, operation, ResourceType.TOPIC, name)


def _found(question: Question, topic: _Topic, queries: Queries) -> WhoCan:
    config = queries.context.config
    return who_can(topic.acls, config, question.operation, ResourceType.TOPIC, topic.name)


def _fields(topic: _Topic) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "topicId": None if topic.id is None else uuid_text(topic.id),
        "partitions": topic.partitions,
    }
