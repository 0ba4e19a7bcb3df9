"""Sends the same requests to two clusters, step by step, and compares the answers.

This module must not know the requests, nor which cluster is ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaException

from metalog.hosts.host_port import Address
from metalog.wire.schema import Body
from tests.support.wire.admin_requests import DESCRIBE_ACLS, DESCRIBE_SCRAM, NodeClient

LONGEST_DELAY_S = 60.0


class Step(NamedTuple):
    """``run`` sends a request to one cluster. A description may be repeated: Kafka's brokers learn
    of a change some milliseconds after it is acknowledged."""

    run: Callable[[], Any]
    is_description: bool = False


def lockstep(theirs: Iterable[Step], ours: Iterable[Step]) -> None:
    for number, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        answered, expected = outcome(our), outcome(their)
        deadline = time.monotonic() + LONGEST_DELAY_S
        while answered != expected and their.is_description and time.monotonic() < deadline:
            expected = outcome(their)
        assert answered == expected, f"step {number}"


def outcome(step: Step) -> str:
    """What a client returns or raises, as it prints it."""
    try:
        return repr(step.run())
    except KafkaException as error:
        return str(error.args[0])


def asking(address: Address, requests: Iterator[Body]) -> Iterator[Step]:
    asker = NodeClient(address)
    for request in requests:
        is_description = request.__api_key__ in (DESCRIBE_ACLS, DESCRIBE_SCRAM)
        yield Step(partial(asker.ask, request), is_description)
    asker.close()
