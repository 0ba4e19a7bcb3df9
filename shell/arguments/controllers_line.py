"""Parses ``--initial-controllers``, the first controllers of a quorum, as kafka-storage does
(KIP-853).

``0@example.com:8082:JEXY6aqzQY-32P5TStzaFg,1@[::1]:8083:…``: node id, address, directory id. This
module must not know what is done with the controllers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidRequest
from metalog.hosts.client_host import client_host
from metalog.ids import parse_uuid

if TYPE_CHECKING:
    from snapshot.formatting import Controller

_FORM: Final = re.compile(
    r"(?P<id>[0-9]{1,9})@(?:\[(?P<ipv6>[^]]+)\]|(?P<host>[^:\[\]]+))"
    r":(?P<port>[0-9]{1,5}):(?P<directory>[A-Za-z0-9_-]+)"
)
_MAX_PORT: Final = 65535


def parse_controllers(text: str, listener: str) -> tuple[Controller, ...]:
    """Each controller has an endpoint of ``listener``, with the address as Java writes it."""
    from metalog.records.messages.voters_record import Endpoint
    from snapshot.formatting import Controller

    controllers = {}
    for part in text.split(","):
        match = _FORM.fullmatch(part.strip())
        if match is None or int(match["port"]) > _MAX_PORT:
            raise InvalidRequest(
                f"--initial-controllers: {part!r} is not of the form ID@HOST:PORT:DIRECTORY-ID"
            )
        try:
            directory_id = parse_uuid(match["directory"])
        except ValueError as error:
            raise InvalidRequest(f"--initial-controllers: {error}") from None
        node_id, host = int(match["id"]), match["ipv6"] or match["host"]
        if node_id in controllers:
            raise InvalidRequest(f"--initial-controllers: node {node_id} is listed twice")
        endpoint = Endpoint(listener, client_host(host), int(match["port"]))
        controllers[node_id] = Controller(node_id, endpoint, directory_id)
    return tuple(controllers.values())
