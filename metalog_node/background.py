"""A node beside a program that has no event loop: it runs on one of its own, on a thread.

This module must not know what is asked of the node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

from metalog.errors import LoadTimeout
from metalog_node.config.node_config import NodeConfig
from metalog_node.handlers.request import HandledApi
from metalog_node.net.event_loop import new_event_loop
from metalog_node.node import Node


@contextmanager
def running(
    config: NodeConfig, *, apis: Mapping[int, HandledApi] | None = None, within_s: float = 30.0
) -> Iterator[Node]:
    """``with running(config) as node:`` has a node all of whose listeners are open.

    Args:
        config: the node's configuration.
        apis: what the program around it answers to its clients, by Kafka's key of each API.
        within_s: how long all listeners may take to open, in seconds.

    Raises:
        LoadTimeout: the time is over; the message has what kept the log from being loaded.
        ConfigException: the configuration cannot be used.
        InvalidTarget: the folder is not this node's alone to write.
    """
    nodes: list[Node] = []
    opened: Future[Node] = Future()
    loop = new_event_loop()
    done = asyncio.Event()

    async def run() -> None:
        nodes.append(Node(config, apis=apis))
        async with nodes[0] as node:
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
        yield _opened_node(opened, within_s, nodes)
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(done.set)
        thread.join()


def _opened_node(opened: Future[Node], within_s: float, nodes: list[Node]) -> Node:
    try:
        return opened.result(within_s)
    except TimeoutError:
        if opened.done():
            raise
        fault = nodes[0].replica.loaded.fault if nodes else None
        why = fault or "nothing went wrong so far; give it more time"
        raise LoadTimeout(f"the node is not open after {within_s:g} s: {why}") from fault


async def _open(node: Node, opened: Future[Node]) -> None:
    try:
        await node.ready()
    except Exception as error:
        opened.set_exception(error)
    else:
        opened.set_result(node)
