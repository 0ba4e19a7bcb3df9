"""The services behind a node's answers, without its sockets. This module must not know the
requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from authorizer import StandardAuthorizer
from metalog import Replica, WritableDirectoryLog
from metalog.controller.scram_password_config import ScramPasswordConfig
from metalog.hosts.host_port import Address
from metalog_node.config.listeners import Listener
from metalog_node.handlers.request import PasswordSetting, Services
from tests.support.disk.written_log import formatted


@contextmanager
def services_of(
    folder: Path, authorizer: StandardAuthorizer | None, listener: Listener
) -> Iterator[Services]:
    """The services of a controller whose replica has loaded a fresh log in ``folder``."""
    formatted(folder)
    publishers = [] if authorizer is None else [authorizer]
    with (
        Replica(WritableDirectoryLog(folder), publishers) as replica,
        ThreadPoolExecutor(1) as threads,
    ):
        replica.create_acls(None, [])
        if authorizer is not None:
            authorizer.start({listener.name: ""})[listener.name].result(60)
        yield Services(
            1,
            lambda: "cluster",
            frozenset({"controller"}),
            replica,
            authorizer,
            [listener],
            {listener.name: Address(listener.host, listener.port)},
            PasswordSetting(ScramPasswordConfig(), None, threads),
        )
