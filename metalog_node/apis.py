"""Which APIs a listener answers: every handler's own, by who listens there.

Sources: what Kafka 4.3.1 and 4.4.0 offer on their listeners. What is not here is refused before it
is read. Our own handlers may run on any thread. This module must not know sockets, nor any one API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metalog.wire.client.session import SASL_AUTHENTICATE, SASL_HANDSHAKE
from metalog.wire.versions import API_VERSIONS, VersionRange, Versions
from metalog_node.handlers import (
    acls,
    cluster,
    controllers,
    envelope,
    passwords,
    quorum,
    quotas,
    scram,
)
from metalog_node.handlers.request import SHORT, HandledApi

_ADMIN: Final[Mapping[int, HandledApi]] = {
    **acls.APIS,
    **scram.APIS,
    **passwords.APIS,
    **quotas.APIS,
    **cluster.APIS,
    **quorum.APIS,
    **controllers.APIS,
}
_OF_A_QUORUM: Final = {**quorum.APIS, **quorum.OF_CONTROLLERS}
_OF_CONNECTIONS: Final[Versions] = {
    SASL_HANDSHAKE: VersionRange(0, 1),
    API_VERSIONS: VersionRange(0, 5),
    SASL_AUTHENTICATE: VersionRange(0, 2),
}


def apis_of(
    *,
    is_controllers: bool,
    forwards: bool = False,
    has_quorum: bool = True,
    added: Mapping[int, HandledApi] | None = None,
) -> Mapping[int, HandledApi]:
    """By key, those that a listener's clients may ask once they are known.

    ``forwards`` where another node may be the controller; without ``has_quorum`` the log is a
    topic, and is followed there. ``added`` are those of the program around it, for brokers'
    listeners, and come before ours.
    """
    apis = {**_ADMIN, **(envelope.OF_BROKERS if forwards else {})}
    if is_controllers:
        apis |= {**quorum.OF_CONTROLLERS, **envelope.OF_CONTROLLERS}
    else:
        apis |= cluster.OF_BROKERS
    if not has_quorum:
        apis = {key: api for key, api in apis.items() if key not in _OF_A_QUORUM}
    apis = {key: _on_any_thread(api) for key, api in apis.items()}
    return apis if is_controllers else {**apis, **(added or {})}


def _on_any_thread(api: HandledApi) -> HandledApi:
    return api if api.short is not None else api._replace(short=SHORT)


_OF_CONNECTIONS_OF_4_3: Final = {**_OF_CONNECTIONS, API_VERSIONS: VersionRange(0, 4)}


def spoken(apis: Mapping[int, HandledApi], kafka: str) -> Versions:
    """What ApiVersions tells of ``apis``, those of the connection itself among them, by this
    version of Kafka."""
    known = {key: api.versions for key, api in apis.items() if api.since <= kafka}
    return {**(_OF_CONNECTIONS_OF_4_3 if kafka == "4.3" else _OF_CONNECTIONS), **known}
