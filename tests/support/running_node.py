"""A node in this process, of both roles or as its properties say, on free ports.

This module must not know what is asked of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
}


@contextmanager
def running(properties: Mapping[str, str]) -> Iterator[Node]:
    """A node, once all of its listeners are open."""
    with metalog_node.running(config_of(properties), within_s=20) as node:
        yield node


@contextmanager
def running_in(folder: Path, **changed: str) -> Iterator[Node]:
    """A node of both roles whose log is in ``folder``."""
    with running({**BOTH_ROLES, "metadata.log.dir": str(folder), **changed}) as node:
        yield node
