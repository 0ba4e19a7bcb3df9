"""The APIs of each kind of listener.

A listener refuses all other APIs before it decodes the request. Sources: the ApiVersions of Kafka
4.3.1 and 4.4.0. This module must not know sockets, nor what an API does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metalog.wire.client.session import SASL_AUTHENTICATE, SASL_HANDSHAKE
from metalog.wire.versions import API_VERSIONS, VersionRange, Versions
from metalog_node.handlers import acls, cluster, envelope, passwords, quorum, quotas, scram
from metalog_node.handlers.request import MOST_BYTES_ON_LOOP, HandledApi

_ADMIN: Final[Mapping[int, HandledApi]] = {
    **acls.APIS,
    **scram.APIS,
    **passwords.APIS,
    **quotas.APIS,
    **cluster.APIS,
    **quorum.APIS,
}
_QUORUM_APIS: Final = {**quorum.APIS, **quorum.CONTROLLER_APIS}
_LOGIN_APIS: Final[Versions] = {
    SASL_HANDSHAKE: VersionRange(0, 1),
    API_VERSIONS: VersionRange(0, 5),
    SASL_AUTHENTICATE: VersionRange(0, 2),
}


def apis_of(
    *,
    is_for_controllers: bool,
    forwards: bool = False,
    has_quorum: bool = True,
    added: Mapping[int, HandledApi] | None = None,
) -> Mapping[int, HandledApi]:
    """The APIs that a listener answers after the login, by API key.

    ``forwards``: another node can be the controller. ``has_quorum``: followers fetch the log from
    this node, not from a Kafka topic. ``added``: the program's own APIs for clients' listeners;
    they replace the node's APIs with the same keys.
    """
    apis = {**_ADMIN, **(envelope.BROKER_APIS if forwards else {})}
    if is_for_controllers:
        apis |= {**quorum.CONTROLLER_APIS, **envelope.CONTROLLER_APIS}
    else:
        apis |= cluster.BROKER_APIS
    if not has_quorum:
        apis = {key: api for key, api in apis.items() if key not in _QUORUM_APIS}
    apis = {key: _with_limit_on_loop(api) for key, api in apis.items()}
    return apis if is_for_controllers else {**apis, **(added or {})}


def _with_limit_on_loop(api: HandledApi) -> HandledApi:
    if api.most_bytes_on_loop is not None:
        return api
    return api._replace(most_bytes_on_loop=MOST_BYTES_ON_LOOP)


_LOGIN_APIS_OF_4_3: Final = {**_LOGIN_APIS, API_VERSIONS: VersionRange(0, 4)}


def announced_versions(apis: Mapping[int, HandledApi], kafka: str) -> Versions:
    """The versions of ``apis`` and of the login's APIs that Kafka ``kafka`` announces."""
    versions = {
        key: api.versions for key, api in apis.items() if _numbers(api.since) <= _numbers(kafka)
    }
    return {**(_LOGIN_APIS_OF_4_3 if kafka == "4.3" else _LOGIN_APIS), **versions}


def _numbers(kafka: str) -> list[int]:
    """A version of Kafka for comparison: 4.10 is newer than 4.4."""
    return [int(number) for number in kafka.split(".")]
