"""Requests that go topic by topic, for a program around a node: each topic authorized for itself.

Such a program says what is so of a partition; here it becomes an ``Api`` for ``Node``, in one
version of Kafka's protocol that today's clients speak. What a topic's name may not be known for
is answered with TOPIC_AUTHORIZATION_FAILED, whether there is such a topic or not. This module
must not know what is in a topic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, NamedTuple

from kio.schema.errors import ErrorCode as KafkaErrorCode

from authorizer.requests import actions, are_allowed
from metalog.errors import ApiError
from metalog.wire.messages import write_request
from metalog.wire.schema import Body, response_parts
from metalog.wire.versions import VersionRange
from metalog_node.handlers.question import Answer, Api, Question, Services, error_fields

PRODUCE: Final = 0
FETCH: Final = 1
LIST_OFFSETS: Final = 2
METADATA: Final = 3

UNKNOWN_TOPIC: Final = {"error_code": KafkaErrorCode.unknown_topic_or_partition}

Outcome = Callable[[str, Any], Mapping[str, Any]]
"""Of a topic's name and kio's part of the request on one partition of it: fields of kio's part
of the answer, as far as they differ from "no error, and nothing to tell"."""

_METADATA_VERSION: Final = 8
_LOOKED_AGAIN_S: Final = 0.02
_NO_TIME: Final = timedelta()
_DENIED: Final = {"error_code": KafkaErrorCode.topic_authorization_failed}


class _Shape(NamedTuple):
    """What Kafka calls the levels of a request, and of its answer, from the outside in."""

    name: str
    version: int
    topics: str
    topic: str
    partitions: str
    partition: str
    told: str
    told_as: str
    parts: str
    part: str
    number: str
    nothing: Mapping[str, Any]
    around: Mapping[str, Any]


_NONE: Final = KafkaErrorCode.none
_SHAPES: Final = {
    PRODUCE: _Shape(
        *("Produce", 8, "topic_data", "name", "partition_data", "index"),
        *("responses", "TopicProduceResponse", "partition_responses", "PartitionProduceResponse"),
        "index",
        {"error_code": _NONE, "base_offset": -1, "record_errors": ()},
        {},
    ),
    FETCH: _Shape(
        *("Fetch", 11, "topics", "topic", "partitions", "partition"),
        *("responses", "FetchableTopicResponse", "partitions", "PartitionData"),
        "partition_index",
        {
            "error_code": _NONE,
            "high_watermark": -1,
            "aborted_transactions": None,
            "records": b"",
        },
        {"error_code": _NONE},
    ),
    LIST_OFFSETS: _Shape(
        *("ListOffsets", 5, "topics", "name", "partitions", "partition_index"),
        *("topics", "ListOffsetsTopicResponse", "partitions", "ListOffsetsPartitionResponse"),
        "partition_index",
        {"error_code": _NONE},
        {},
    ),
}


def topic_api(key: int, outcome: Outcome) -> dict[int, Api]:
    """Produce, Fetch or ListOffsets, by its ``key``, for ``Node``'s ``apis``."""

    def handle(services: Services, question: Question) -> Answer:
        allowed = {topic: may(services, question, topic) for topic in topics_of(question)}

        def body() -> Body:
            return answered(
                question,
                lambda topic, part: outcome(topic, part) if allowed[topic] else _DENIED,
            )

        return _with_news(question, body) if key == FETCH else body()

    shape = _SHAPES[key]
    return {key: Api(shape.name, VersionRange(shape.version, shape.version), handle, refused)}


def metadata_api(topics: Callable[[], Collection[str]]) -> dict[int, Api]:
    """Metadata of a node that is the one broker and leads each of ``topics``, of one partition."""

    def handle(services: Services, question: Question) -> Body:
        known, asked = topics(), question.request.body.topics
        outcomes: list[tuple[str, Mapping[str, Any] | None]] = []
        for name in sorted(known) if asked is None else [each.name for each in asked]:
            if may(services, question, name):
                outcomes.append((name, None if name in known else UNKNOWN_TOPIC))
            elif asked is not None:
                outcomes.append((name, _DENIED))
        return _metadata(services, question, outcomes)

    versions = VersionRange(_METADATA_VERSION, _METADATA_VERSION)
    return {METADATA: Api("Metadata", versions, handle, _metadata_refused)}


def topics_of(question: Question) -> list[str]:
    """The names in a Produce, a Fetch or a ListOffsets."""
    shape = _SHAPES[question.request.head.api_key]
    return [getattr(each, shape.topic) for each in getattr(question.request.body, shape.topics)]


def only(question: Question, topics: Collection[str]) -> Question:
    """The same request, of ``topics`` alone."""
    shape, body = _SHAPES[question.request.head.api_key], question.request.body
    kept = [each for each in getattr(body, shape.topics) if getattr(each, shape.topic) in topics]
    request = question.request._replace(body=replace(body, **{shape.topics: tuple(kept)}))
    head = request.head
    payload = write_request(request.body, head.correlation_id, request.client_id)
    return question._replace(request=request, payload=payload)


def joined(question: Question, *answers: Body) -> Body:
    """One answer that tells what all of ``answers`` tell, and for the rest is as the last."""
    told = _SHAPES[question.request.head.api_key].told
    parts = [part for answer in answers for part in getattr(answer, told)]
    joined_body: Body = replace(answers[-1], **{told: tuple(parts)})
    return joined_body


def denied(question: Question) -> Body:
    """The answer that refuses each topic."""
    return answered(question, lambda topic, part: _DENIED)


def may(services: Services, question: Question, topic: str) -> bool:
    """Whether the asker may do to ``topic`` what is asked."""
    if services.authorizer is None:
        return True
    needed = actions(question.context.request_name, topics=[topic])
    return are_allowed(services.authorizer, question.context, needed)


def answered(question: Question, outcome: Outcome) -> Body:
    """The answer that tells ``outcome`` of each partition."""
    head = question.request.head
    shape, kio = _SHAPES[head.api_key], response_parts(head.api_key, head.version)
    told = []
    for topic in getattr(question.request.body, shape.topics):
        name = getattr(topic, shape.topic)
        parts = [
            getattr(kio, shape.part)(
                **{shape.number: getattr(part, shape.partition)},
                **{**shape.nothing, **outcome(name, part)},
            )
            for part in getattr(topic, shape.partitions)
        ]
        told.append(getattr(kio, shape.told_as)(**{shape.topic: name, shape.parts: tuple(parts)}))
    whole = getattr(kio, f"{shape.name}Response")
    return whole(throttle_time=_NO_TIME, **{shape.told: tuple(told)}, **shape.around)


def refused(question: Question, error: ApiError) -> Body:
    """The answer that tells ``error`` of each partition."""
    code = {"error_code": error_fields(error)["error_code"]}
    return answered(question, lambda topic, part: code)


def _with_news(question: Question, body: Callable[[], Body]) -> Answer:
    """Of a Fetch: once there is something to tell, or its time is over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + question.request.body.max_wait.total_seconds()
    later: Future[Body] = Future()

    def look() -> None:
        if later.cancelled():
            return
        try:
            answer = body()
        except Exception as error:
            later.set_exception(error)
            return
        parts = (part for topic in answer.responses for part in topic.partitions)
        if loop.time() >= deadline or any(part.records or part.error_code for part in parts):
            later.set_result(answer)
        else:
            loop.call_later(_LOOKED_AGAIN_S, look)

    look()
    return later


def _metadata(
    services: Services, question: Question, outcomes: list[tuple[str, Mapping[str, Any] | None]]
) -> Body:
    kio = response_parts(METADATA, _METADATA_VERSION)
    node, here = services.node_id, services.addresses[question.listener.name]
    partition = kio.MetadataResponsePartition(
        error_code=_NONE,
        partition_index=0,
        leader_id=node,
        replica_nodes=(node,),
        isr_nodes=(node,),
    )
    return kio.MetadataResponse(
        throttle_time=_NO_TIME,
        brokers=(kio.MetadataResponseBroker(node_id=node, host=here.host, port=here.port),),
        cluster_id=services.cluster_id,
        controller_id=node,
        topics=tuple(
            kio.MetadataResponseTopic(name=name, partitions=(partition,), error_code=_NONE)
            if error is None
            else kio.MetadataResponseTopic(name=name, partitions=(), **error)
            for name, error in outcomes
        ),
    )


def _metadata_refused(question: Question, error: ApiError) -> Body:
    kio = response_parts(METADATA, _METADATA_VERSION)
    code = error_fields(error)["error_code"]
    return kio.MetadataResponse(
        throttle_time=_NO_TIME,
        brokers=(),
        topics=tuple(
            kio.MetadataResponseTopic(name=each.name, partitions=(), error_code=code)
            for each in question.request.body.topics or ()
        ),
    )
