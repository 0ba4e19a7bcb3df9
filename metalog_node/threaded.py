"""A node beside a program that has no event loop: it runs on one of its own, on a thread.

This module must not know what is asked of the node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

from metalog_node.config import NodeConfig
from metalog_node.handlers.question import Api
from metalog_node.node import Node


@contextmanager
def running(
    config: NodeConfig, *, apis: Mapping[int, Api] | None = None, within_s: float = 30.0
) -> Iterator[Node]:
    """``with running(config) as node:`` has a node all of whose listeners are open.

    What keeps it from that is raised; ``TimeoutError`` after ``within_s``.
    """
    opened: Future[Node] = Future()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def run() -> None:
        async with Node(config, apis=apis) as node:
            opening = asyncio.create_task(_open(node, opened))
            await done.wait()
            opening.cancel()

    def run_to_the_end() -> None:
        try:
            loop.run_until_complete(run())
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error)
        finally:
            loop.close()

    thread = Thread(target=run_to_the_end, name="metalog-node")
    thread.start()
    try:
        yield opened.result(within_s)
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(done.set)
        thread.join()


async def _open(node: Node, opened: Future[Node]) -> None:
    try:
        await node.ready()
    except Exception as error:
        opened.set_exception(error)
    else:
        opened.set_result(node)
