"""``quorum://HOST:PORT[,HOST:PORT]`` as a SOURCE: controllers of a live KRaft quorum.

This module must not know what is asked of the log.
"""

from __future__ import annotations

from pathlib import Path

from metalog.errors import InvalidRequest, InvalidSource
from metalog.files import Files
from metalog.log.quorum import SCHEME, QuorumLog
from snapshot.exchange.client_file import wire_settings


def open_quorum(url: str, command_config: Path | None, files: Files) -> QuorumLog:
    """The log; nobody is connected to yet."""
    settings = wire_settings(command_config, files)
    try:
        return QuorumLog(url.removeprefix(SCHEME), settings)
    except InvalidRequest as error:
        raise InvalidSource(f"{url}: {error}; give {SCHEME}HOST:PORT[,HOST:PORT]") from None
