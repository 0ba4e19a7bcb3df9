"""Helps a program that embeds a node to answer Produce, Fetch, ListOffsets and Metadata.

A program's function becomes a ``HandledApi`` for ``Node``. Each API is answered in one version,
which current clients speak. One call authorizes all topics of a request. A named topic without
authorization gets TOPIC_AUTHORIZATION_FAILED, whether the topic exists or not. The node calls the
program's functions on its event loop. This module must not know what is in a topic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from kio.schema.errors import ErrorCode as KafkaErrorCode

from authorizer.api import Action
from authorizer.permissions.requests import actions, each_allowed
from metalog.errors import ApiError
from metalog.wire.messages import WireRequest, write_request
from metalog.wire.schema import Body, response_parts
from metalog.wire.versions import VersionRange
from metalog_node.handlers.request import (
    Answer,
    HandledApi,
    IncomingRequest,
    Services,
    error_fields,
)

PRODUCE: Final = 0
"""The API key of Produce."""
FETCH: Final = 1
"""The API key of Fetch."""
LIST_OFFSETS: Final = 2
"""The API key of ListOffsets."""
METADATA: Final = 3
"""The API key of Metadata."""

UNKNOWN_TOPIC: Final = {"error_code": KafkaErrorCode.unknown_topic_or_partition}
"""The outcome for a topic that does not exist."""

R = TypeVar("R")
Outcome = Callable[[str, Any], Mapping[str, Any]]
"""A program's function that answers for one partition.

The arguments are the topic's name and the partition's part of the request, a kio object. The
fields in the result replace those of an empty response without an error.
"""

_METADATA_VERSION: Final = 8
_SHORTEST_PAUSE_S: Final = 0.02
_PAUSE_PER_ATTEMPT: Final = 5
"""The pause after an attempt of a Fetch is this many times as long as the attempt."""
_SLICE: Final = 100
"""After this many topics and partitions, the event loop does other work before the next topic. If a
request refers to more topics, another thread authorizes it."""
_NO_TIME: Final = timedelta()
_DENIED: Final = {"error_code": KafkaErrorCode.topic_authorization_failed}
_ACKS: Final = (-1, 0, 1)
_INVALID_ACKS: Final = {"error_code": KafkaErrorCode.invalid_required_acks}


class _Shape(NamedTuple):
    """Kafka's names for the fields and types in a request and its response, outermost first."""

    name: str
    version: int
    topics: str
    topic_name: str
    partitions: str
    partition_index: str
    results: str
    result_type: str
    result_partitions: str
    result_partition_type: str
    result_partition_index: str
    empty_result: Mapping[str, Any]
    response_fields: Mapping[str, Any]


_NONE: Final = KafkaErrorCode.none
_SHAPES: Final = {
    PRODUCE: _Shape(
        "Produce", 8, "topic_data", "name", "partition_data", "index",
        "responses", "TopicProduceResponse", "partition_responses", "PartitionProduceResponse",
        "index",
        {"error_code": _NONE, "base_offset": -1, "record_errors": ()},
        {},
    ),
    FETCH: _Shape(
        "Fetch", 11, "topics", "topic", "partitions", "partition",
        "responses", "FetchableTopicResponse", "partitions", "PartitionData",
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
        "ListOffsets", 5, "topics", "name", "partitions", "partition_index",
        "topics", "ListOffsetsTopicResponse", "partitions", "ListOffsetsPartitionResponse",
        "partition_index",
        {"error_code": _NONE},
        {},
    ),
}  # fmt: skip


def topic_api(
    key: int, outcome: Outcome, topics: Callable[[], Collection[str]] | None = None
) -> dict[int, HandledApi]:
    """The API ``key`` (Produce, Fetch or ListOffsets) for the argument ``apis`` of ``Node``.

    ``topics`` returns the names of all topics; another topic gets ``UNKNOWN_TOPIC``. If ``topics``
    is None, ``outcome`` is also called for topics that do not exist.
    """

    def handle(services: Services, incoming: IncomingRequest) -> Answer:
        return _on_the_loop(_answer(services, incoming, outcome, topics))

    shape = _SHAPES[key]
    return {
        key: HandledApi(
            shape.name,
            VersionRange(shape.version, shape.version),
            handle,
            error_response,
            is_silent=_expects_no_response if key == PRODUCE else None,
        )
    }


async def _answer(
    services: Services,
    incoming: IncomingRequest,
    outcome: Outcome,
    topics: Callable[[], Collection[str]] | None,
) -> Body:
    allowed = await _authorized_topics_async(services, incoming, _references(incoming))
    is_acks_valid = getattr(incoming.request.body, "acks", 1) in _ACKS

    def result_of(topic: str, part: Any) -> Mapping[str, Any]:
        if topic not in allowed:
            return _DENIED
        if topics is not None and topic not in topics():
            return UNKNOWN_TOPIC
        return outcome(topic, part) if is_acks_valid else _INVALID_ACKS

    if incoming.request.head.api_key != FETCH:
        return await _response_in_slices(incoming, result_of)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + incoming.request.body.max_wait.total_seconds()
    while True:
        began = loop.time()
        answer = await _response_in_slices(incoming, result_of)
        parts = (part for topic in answer.responses for part in topic.partitions)
        now = loop.time()
        if now >= deadline or any(part.records or part.error_code for part in parts):
            return answer
        pause_s = max(_SHORTEST_PAUSE_S, _PAUSE_PER_ATTEMPT * (now - began))
        await asyncio.sleep(min(pause_s, deadline - now))


def metadata_api(topics: Callable[[], Collection[str]]) -> dict[int, HandledApi]:
    """Metadata for a node that is the only broker. ``topics`` returns the names of all topics, each
    with one partition."""

    async def answer(services: Services, incoming: IncomingRequest) -> Body:
        known, requested = topics(), incoming.request.body.topics
        names = (
            sorted(known)
            if requested is None
            else list(dict.fromkeys(each.name for each in requested))
        )
        allowed = await _authorized_topics_async(
            services, incoming, names, log_denied=requested is not None
        )
        outcomes: list[tuple[str, Mapping[str, Any] | None]] = []
        for name in names:
            if name in allowed:
                outcomes.append((name, None if name in known else UNKNOWN_TOPIC))
            elif requested is not None:
                outcomes.append((name, _DENIED))
        return await asyncio.to_thread(_metadata, services, incoming, outcomes)

    def handle(services: Services, incoming: IncomingRequest) -> Answer:
        return _on_the_loop(answer(services, incoming))

    versions = VersionRange(_METADATA_VERSION, _METADATA_VERSION)
    return {METADATA: HandledApi("Metadata", versions, handle, _metadata_refused)}


def topics_of(incoming: IncomingRequest) -> list[str]:
    """The names of the topics in a Produce, Fetch or ListOffsets request."""
    return [getattr(each, _shape(incoming).topic_name) for each in _topics(incoming)]


def _references(incoming: IncomingRequest) -> list[str]:
    """A topic's name for each reference that Kafka counts: one for each partition or, in
    ListOffsets, one for each topic."""
    shape = _shape(incoming)
    if incoming.request.head.api_key == LIST_OFFSETS:
        return topics_of(incoming)
    return [
        getattr(topic, shape.topic_name)
        for topic in _topics(incoming)
        for _ in getattr(topic, shape.partitions)
    ]


def restricted_to(incoming: IncomingRequest, topics: Collection[str]) -> IncomingRequest:
    """The request with only the topics that are in ``topics``."""
    shape, body = _shape(incoming), incoming.request.body
    kept = [each for each in _topics(incoming) if getattr(each, shape.topic_name) in topics]
    head, client_id = incoming.request.head, incoming.request.client_id
    request = WireRequest(head, client_id, replace(body, **{shape.topics: tuple(kept)}))
    payload = write_request(request.body, head.correlation_id, client_id)
    return incoming._replace(request=request, payload=payload)


def with_answer(incoming: IncomingRequest) -> IncomingRequest:
    """The request with acks=1 in place of acks=0: a broker behind a proxy then sends a response."""
    if incoming.request.head.api_key != PRODUCE or incoming.request.body.acks != 0:
        return incoming
    head, client_id = incoming.request.head, incoming.request.client_id
    request = WireRequest(head, client_id, replace(incoming.request.body, acks=1))
    payload = write_request(request.body, head.correlation_id, client_id)
    return incoming._replace(request=request, payload=payload)


def joined(incoming: IncomingRequest, *answers: Body) -> Body:
    """The last answer, with the topics of all ``answers``."""
    results = _shape(incoming).results
    parts = [part for answer in answers for part in getattr(answer, results)]
    joined_body: Body = replace(answers[-1], **{results: tuple(parts)})
    return joined_body


def denied(incoming: IncomingRequest) -> Body:
    """The answer with TOPIC_AUTHORIZATION_FAILED for each partition."""
    return answered(incoming, lambda topic, part: _DENIED)


def authorized_topics(
    services: Services, incoming: IncomingRequest, topics: Iterable[str], *, log_denied: bool = True
) -> set[str]:
    """The topics among ``topics`` for which the request is authorized.

    Each repetition in ``topics`` counts as a reference. Any thread may call this function.
    """
    named = list(topics)
    names = list(dict.fromkeys(named))
    if services.authorizer is None:
        return set(names)
    needed = actions(incoming.context.request_name, topics=named)
    if not log_denied:
        needed = [(_silent(action),) for (action,) in needed]
    allowed = each_allowed(services.authorizer, incoming.context, needed)
    return {name for name, is_allowed in zip(names, allowed, strict=True) if is_allowed}


def _silent(action: Action) -> Action:
    """The action without a logged denial, because the answer leaves out denied topics."""
    return Action(
        action.operation, action.resource, action.resource_reference_count, log_if_denied=False
    )


def answered(incoming: IncomingRequest, outcome: Outcome) -> Body:
    """The answer with ``outcome`` for each partition."""
    results = [_topic_result(incoming, topic, outcome) for topic in _topics(incoming)]
    return _whole(incoming, results)


async def _response_in_slices(incoming: IncomingRequest, outcome: Outcome) -> Body:
    """Like ``answered``, but the event loop does other work after each slice of topics."""
    results, done = [], 0
    for topic in _topics(incoming):
        results.append(_topic_result(incoming, topic, outcome))
        done += 1 + len(getattr(topic, _shape(incoming).partitions))
        if done >= _SLICE:
            done = 0
            await asyncio.sleep(0)
    return _whole(incoming, results)


def _expects_no_response(incoming: IncomingRequest) -> bool:
    is_silent: bool = incoming.request.body.acks == 0
    return is_silent


def _shape(incoming: IncomingRequest) -> _Shape:
    return _SHAPES[incoming.request.head.api_key]


def _topics(incoming: IncomingRequest) -> Iterable[Any]:
    topics: Iterable[Any] = getattr(incoming.request.body, _shape(incoming).topics)
    return topics


def _topic_result(incoming: IncomingRequest, topic: Any, outcome: Outcome) -> Any:
    head, shape = incoming.request.head, _shape(incoming)
    kio = response_parts(head.api_key, head.version)
    name = getattr(topic, shape.topic_name)
    parts = [
        getattr(kio, shape.result_partition_type)(
            **{shape.result_partition_index: getattr(part, shape.partition_index)},
            **{**shape.empty_result, **outcome(name, part)},
        )
        for part in getattr(topic, shape.partitions)
    ]
    fields = {shape.topic_name: name, shape.result_partitions: tuple(parts)}
    return getattr(kio, shape.result_type)(**fields)


def _whole(incoming: IncomingRequest, results: list[Any]) -> Body:
    head, shape = incoming.request.head, _shape(incoming)
    whole = getattr(response_parts(head.api_key, head.version), f"{shape.name}Response")
    return whole(throttle_time=_NO_TIME, **{shape.results: tuple(results)}, **shape.response_fields)


async def _authorized_topics_async(
    services: Services,
    incoming: IncomingRequest,
    topics: Collection[str],
    *,
    log_denied: bool = True,
) -> Collection[str]:
    call = partial(authorized_topics, services, incoming, topics, log_denied=log_denied)
    return await asyncio.to_thread(call) if len(topics) > _SLICE else call()


def _on_the_loop(answer: Coroutine[Any, Any, R]) -> Future[R]:
    return asyncio.run_coroutine_threadsafe(answer, asyncio.get_running_loop())


def error_response(incoming: IncomingRequest, error: ApiError) -> Body:
    """The answer with ``error`` for each partition."""
    code = {"error_code": error_fields(error)["error_code"]}
    return answered(incoming, lambda topic, part: code)


def _metadata(
    services: Services,
    incoming: IncomingRequest,
    outcomes: list[tuple[str, Mapping[str, Any] | None]],
) -> Body:
    kio = response_parts(METADATA, _METADATA_VERSION)
    node, here = services.node_id, services.addresses[incoming.listener.name]
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


def _metadata_refused(incoming: IncomingRequest, error: ApiError) -> Body:
    kio = response_parts(METADATA, _METADATA_VERSION)
    code = error_fields(error)["error_code"]
    return kio.MetadataResponse(
        throttle_time=_NO_TIME,
        brokers=(),
        topics=tuple(
            kio.MetadataResponseTopic(name=topic.name, partitions=(), error_code=code)
            for topic in incoming.request.body.topics or ()
        ),
    )
