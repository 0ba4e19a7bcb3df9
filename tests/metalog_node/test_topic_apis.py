"""The APIs of a program's topics, on an event loop whose clock only the test moves."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from metalog.wire.messages import RequestHeader, WireRequest
from metalog.wire.schema import request_parts
from metalog_node.handlers.request import IncomingRequest
from metalog_node.topic_apis import FETCH, topic_api


def fetch(max_wait: timedelta) -> Any:
    kio = request_parts(FETCH, 11)
    partition = kio.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
    topic = kio.FetchTopic(topic="t", partitions=(partition,))
    return kio.FetchRequest(
        replica_id=-1, max_wait=max_wait, min_bytes=1, topics=(topic,), forgotten_topics_data=()
    )


@pytest.mark.parametrize(
    ("wait_s", "pauses_s"), [(3, [1]), (0.01, []), (20, [10, 6]), (2.001, [0.001])]
)
def test_a_pause_of_a_fetch_ends_at_its_deadline(
    wait_s: float, pauses_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt takes two seconds."""
    clock, pauses = SimpleNamespace(now_s=0.0), []

    def outcome(topic: str, part: Any) -> dict[str, Any]:
        clock.now_s += 2
        return {}

    async def sleep(seconds: float) -> None:
        clock.now_s += seconds
        pauses.append(seconds)

    async def answer() -> Any:
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: clock.now_s)
        monkeypatch.setattr("metalog_node.topic_apis.asyncio.sleep", sleep)
        answered: Any = api.handle(SimpleNamespace(authorizer=None), incoming)
        return await asyncio.wrap_future(answered)

    request = WireRequest(RequestHeader(FETCH, 11, 7), "test", fetch(timedelta(seconds=wait_s)))
    incoming: Any = IncomingRequest(request, b"", *[None] * 3)  # type: ignore[arg-type]
    [api] = topic_api(FETCH, outcome).values()
    [topic] = asyncio.run(answer()).responses
    assert [part.records for part in topic.partitions] == [b""]
    assert pauses == pytest.approx(pauses_s)
