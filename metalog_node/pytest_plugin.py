"""A pytest plugin: ``metalog_node`` is a node to test code against that manages or asks ACLs.

    def test_it_lets_the_app_read(metalog_node):
        grant_everything_to("User:app", metalog_node.bootstrap_servers)
        assert metalog_node.is_allowed("User:app", Operation.READ, topic("orders"))

Each test has a node of its own: it starts in less than a tenth of a second, so none needs to be
shared and cleaned. It needs no plugin for asyncio. This module must not cost those who do not
use it, so nothing is imported before a test asks for a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

    from authorizer import Operation, ResourcePattern
    from metalog_node.node import Node


class RunningNode:
    """``node`` is all of it; the rest is what tests mostly want."""

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def bootstrap_servers(self) -> str:
        """``HOST:PORT`` of its PLAINTEXT listener, or of the first that it has."""
        addresses = self.node.addresses
        return str(addresses.get("PLAINTEXT", next(iter(addresses.values()))))

    @cached_property
    def admin(self) -> AdminClient:
        """confluent-kafka's admin client of the PLAINTEXT listener, who is a super user."""
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})

    def is_allowed(
        self,
        principal: str,
        operation: Operation,
        resource: ResourcePattern,
        *,
        host: str = "127.0.0.1",
    ) -> bool:
        """What the node's authorizer decides at this moment."""
        from authorizer import Action, RequestContext

        if self.node.authorizer is None:
            return True
        action = Action(operation, resource)
        [result] = self.node.authorizer.authorize(RequestContext(principal, host), [action])
        return bool(result)


@pytest.fixture
def metalog_node_properties() -> Mapping[str, str]:
    """Override it to change the node: Kafka's keys, as in a ``server.properties``."""
    return {}


@pytest.fixture
def metalog_node(
    metalog_node_properties: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningNode]:
    """A running node on a free port of this machine, whose log is empty and is thrown away.

    Whoever connects is the super user ``User:ANONYMOUS``.
    """
    from metalog_node import running, trial_config

    folder = tmp_path_factory.mktemp("metalog-node")
    with running(trial_config(folder, changed=metalog_node_properties)) as node:
        yield RunningNode(node)
