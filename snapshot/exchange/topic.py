"""``topic://HOST:PORT[,HOST:PORT]/TOPIC[?snapshots=DIR]`` as a SOURCE.

``DIR`` holds ``.checkpoint`` files; a relative one starts where the URL is written. This
module must not know what is asked of the log.
"""

from __future__ import annotations

from pathlib import Path

from metalog.errors import InvalidRequest, InvalidSource
from metalog.files import Files
from metalog.log.topic import TopicLog
from metalog.log.topic_address import parse_address
from metalog.wire.bootstrap import first_connection
from metalog.wire.hosts import parse_addresses
from snapshot.exchange.client_file import client_settings, wire_settings

_SNAPSHOTS = "snapshots="


def open_topic(url: str, base: Path, command_config: Path | None, files: Files) -> TopicLog:
    """The log, once it was seen to be one; ``InvalidSource`` says what is missing."""
    address, asked, query = url.partition("?")
    snapshots = None
    if asked:
        folder = query.removeprefix(_SNAPSHOTS)
        if folder == query or not folder:
            raise InvalidSource(f"{url}: after the ? only {_SNAPSHOTS}DIR is known")
        snapshots = base / folder
        if not files.is_folder(snapshots):
            raise InvalidSource(f"{snapshots}: there is no such folder of snapshots")
    settings, _ = client_settings(command_config, files)
    _check_reachable(address, command_config, files)
    log = TopicLog(address, settings, snapshots=snapshots, files=files)
    log.check()
    return log


def _check_reachable(url: str, command_config: Path | None, files: Files) -> None:
    """``InvalidSource`` where no server takes a connection, within the time of one and with what
    was tried; librdkafka takes longer, and says less."""
    try:
        settings = wire_settings(command_config, files)
    except InvalidSource:
        return  # librdkafka knows logins that our own client does not
    servers = parse_addresses(parse_address(url).servers)
    try:
        first_connection(servers, settings).close()
    except InvalidRequest as error:
        raise InvalidSource(f"{url}: {error}") from None
