"""Runs a node in a program without an event loop: the node gets its own thread and event loop.

This module must not know what the node is used for.
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
    """Run a node on its own thread, and yield the node when all its listeners are open.

        with running(config) as node: ...

    Args:
        config: the node's configuration.
        apis: the APIs that the program around the node answers, by Kafka's API key.
        within_s: how long all listeners may take to open, in seconds.

    Raises:
        LoadTimeout: the time limit passed; the message says why the log is not loaded yet.
        ConfigException: the configuration cannot be used.
        InvalidTarget: the node cannot be the only writer of its folder.
        InvalidRequest: a listener cannot be opened.
    """
    nodes: list[Node] = []
    opened: Future[Node] = Future()
    loop = new_event_loop()
    is_closing = asyncio.Event()

    async def run() -> None:
        nodes.append(Node(config, apis=apis))
        async with nodes[0] as node:
            opening = asyncio.create_task(_open(node, opened))
            await is_closing.wait()
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
            loop.call_soon_threadsafe(is_closing.set)
        thread.join()


def _opened_node(opened: Future[Node], within_s: float, nodes: list[Node]) -> Node:
    try:
        return opened.result(within_s)
    except TimeoutError:
        if opened.done():
            raise
        fault = nodes[0].replica.loaded.fault if nodes else None
        why = fault or "there was no fault; wait longer (within_s)"
        raise LoadTimeout(f"the node is not open after {within_s:g} s: {why}") from fault


async def _open(node: Node, opened: Future[Node]) -> None:
    try:
        await node.ready()
    except Exception as error:
        opened.set_exception(error)
    else:
        opened.set_result(node)
