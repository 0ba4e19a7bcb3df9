"""A node in this process, on an event loop of its own thread.

This module must not know what is asked of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from metalog_node.config import config_of
from metalog_node.node import Node

BOTH_ROLES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "controller.listener.names": "CONTROLLER",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
}


@contextmanager
def running(properties: Mapping[str, str]) -> Iterator[Node]:
    """A node, once all of its listeners are open."""
    opened: Future[Node] = Future()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def run() -> None:
        try:
            async with Node(config_of(properties)) as node:
                await node.ready()
                opened.set_result(node)
                await done.wait()
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)

    thread = Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    try:
        yield opened.result(timeout=20)
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


@contextmanager
def running_in(folder: Path, **changed: str) -> Iterator[Node]:
    """A node of both roles whose log is in ``folder``."""
    with running({**BOTH_ROLES, "metadata.log.dir": str(folder), **changed}) as node:
        yield node
