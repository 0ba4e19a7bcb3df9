"""The permissions that each request needs, over the wire: every row of
``authorizer.permissions.table``. A client without the permission is refused, and a client with it
alone is not. Also the answer to each while the node cannot decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from authorizer.permissions.table import APIS, ApiPermissions, Permission
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import ClientSettings, client_settings
from metalog.wire.declared.extensions import SCRAM_PASSWORD
from metalog.wire.schema import Body
from metalog_node.apis import apis_of
from metalog_node.node import Node
from tests.support.disk.written_log import formatted
from tests.support.node.running import BOTH_ROLES, running
from tests.support.wire import every_request
from tests.support.wire.admin_requests import acl_filter, create, creation, delete
from tests.support.wire.every_request import first_error

ADMIN, WALKER = "admin", "walker"
PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
LOGINS = f'{PLAIN_LOGIN} user_{ADMIN}="a" user_{WALKER}="w";'
WITH_LOGIN = {
    **BOTH_ROLES,
    "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "listeners": "CLIENT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.client.plain.sasl.jaas.config": LOGINS,
    "listener.name.controller.plain.sasl.jaas.config": LOGINS,
    "super.users": f"User:{ADMIN}",
    "kafka.version": "4.4",
}
REFUSED = (31, 29)
"""CLUSTER_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED."""
OUR_OWN = {SCRAM_PASSWORD}
"""Authorized by KIP-506's own rule: only super users, see ``test_handlers``."""
RESOURCES: dict[str, dict[str, Any]] = {
    "CLUSTER": {"resource_type": 4, "resource_name": "kafka-cluster"},
    "TOPIC": {"resource_type": 2, "resource_name": every_request.TOPIC},
}


def login(user: str, password: str) -> ClientSettings:
    return client_settings(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{PLAIN_LOGIN} username="{user}" password="{password}";',
        }
    )


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    folder = formatted(tmp_path_factory.mktemp("permissions") / "log")
    with running({**WITH_LOGIN, "metadata.log.dir": str(folder)}) as started:
        yield started


@contextmanager
def asking(node: Node, listener: str, user: str) -> Iterator[Callable[[Body], Any]]:
    settings = login(user, user[0])
    with Connection(node.addresses[listener], settings) as connection:
        yield connection.ask


CONTROLLERS_OWN = {
    every_request.FETCH: "a follower fetches",
    every_request.DESCRIBE_CLUSTER: "it is sent to a controller",
}
"""The condition of the one need that a controller asks for."""


def permissions(api: ApiPermissions) -> Iterator[Permission]:
    """Each alone is enough for a controller, or for a broker if only that one answers."""
    when = CONTROLLERS_OWN.get(api.key, "")
    [need] = [need for need in api.needs if need.when == when]
    yield from need.one_of


WALKED = [
    (api, permission)
    for api in APIS
    if api.key in every_request.requests()
    for permission in permissions(api)
]


def test_the_table_is_walked_whole() -> None:
    offered = {*apis_of(is_for_controllers=True), *apis_of(is_for_controllers=False)}
    assert {api.key for api, _ in WALKED} | OUR_OWN == offered == {*every_request.requests()}


@pytest.mark.parametrize(
    ("api", "permission"), WALKED, ids=[f"{api.name}-{need.operation.name}" for api, need in WALKED]
)
def test_a_request_needs_what_the_table_says(
    node: Node, api: ApiPermissions, permission: Permission
) -> None:
    request = every_request.requests()[api.key]
    listener = "CONTROLLER" if api.key in apis_of(is_for_controllers=True) else "CLIENT"
    granted = {
        **RESOURCES[permission.resource_type.name],
        "principal": f"User:{WALKER}",
        "operation": int(permission.operation),
    }
    with asking(node, listener, WALKER) as ask, asking(node, "CONTROLLER", ADMIN) as change:
        assert first_error(ask(request)) in REFUSED
        assert first_error(change(create(creation(**granted)))) == 0
        assert first_error(ask(request)) not in REFUSED
        assert first_error(change(delete(acl_filter(principal_filter=f"User:{WALKER}")))) == 0
        assert first_error(ask(request)) in REFUSED
