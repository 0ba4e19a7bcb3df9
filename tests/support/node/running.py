"""A node in this process, with both roles or those of its properties, on free ports.

This module must not know what it is used for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import metalog_node
from metalog_node import Node, config_of

BOTH_ROLES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "controller.listener.names": "CONTROLLER",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
    "metadata.max.idle.interval.ms": "0",
}
"""The properties of a node with both roles; its log gets no records except a test's changes."""


@contextmanager
def running(properties: Mapping[str, str]) -> Iterator[Node]:
    """A node with all its listeners open."""
    with metalog_node.running(config_of(properties), within_s=20) as node:
        yield node


@contextmanager
def starting(properties: Mapping[str, str]) -> Iterator[Node]:
    """A node of which only the early-start listeners must be open."""
    entered: Future[Node] = Future()
    loop, done = asyncio.new_event_loop(), asyncio.Event()

    async def run() -> None:
        async with Node(config_of(properties)) as node:
            entered.set_result(node)
            await done.wait()

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(loop.run_until_complete, run())
        try:
            yield entered.result(60)
        finally:
            loop.call_soon_threadsafe(done.set)
            running.result()
            loop.close()


@contextmanager
def running_in(folder: Path, **changed: str) -> Iterator[Node]:
    """A node with both roles whose log is in ``folder``."""
    with running({**BOTH_ROLES, "metadata.log.dir": str(folder), **changed}) as node:
        yield node
