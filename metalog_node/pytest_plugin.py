"""A pytest plugin: the fixture ``metalog_node`` is a node, for testing code that manages or
queries ACLs.

    def test_it_lets_the_app_read(metalog_node):
        grant_everything_to("User:app", metalog_node.bootstrap_servers)
        assert metalog_node.is_allowed("User:app", Operation.READ, topic("orders"))

Each test gets a new node, which starts in less than a tenth of a second.
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
    """A running ``node``, with shortcuts for tests."""

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def bootstrap_servers(self) -> str:
        """``HOST:PORT`` of the listener PLAINTEXT, or else of the node's first listener."""
        addresses = self.node.addresses
        return str(addresses.get("PLAINTEXT", next(iter(addresses.values()))))

    @cached_property
    def admin(self) -> AdminClient:
        """confluent-kafka's admin client for ``bootstrap_servers``, as a super user."""
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
        """The decision of the node's authorizer at this moment.

        Raises ``InvalidRequest`` for a principal without a type, which no client has.
        """
        from authorizer import Action, RequestContext
        from metalog.principal import parse_principal

        context = RequestContext(parse_principal(principal), host)
        if self.node.authorizer is None:
            return True
        action = Action(operation, resource)
        [result] = self.node.authorizer.authorize(context, [action])
        return bool(result)


@pytest.fixture
def metalog_node_properties() -> Mapping[str, str]:
    """Properties of a ``server.properties`` that replace those of the development node, or add to
    them. Override this fixture to change the node."""
    return {}


@pytest.fixture
def metalog_node(
    metalog_node_properties: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningNode]:
    """A running node on a free port of this machine, with a temporary empty log.

    Every client is the super user ``User:ANONYMOUS``.
    """
    from metalog_node import dev_config, running

    folder = tmp_path_factory.mktemp("metalog-node")
    with running(dev_config(folder, changed=metalog_node_properties)) as node:
        yield RunningNode(node)
