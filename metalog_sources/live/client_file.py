"""Reads a client's settings from a file with Kafka's keys (``--command-config``).

librdkafka (for topics) and this project's own client use the settings. No message contains a value
that can be a password. This module must not connect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from metalog.config.client_settings import librdkafka_settings
from metalog.disk.files import Files
from metalog.errors import InvalidRequest, InvalidSource
from metalog.log.properties_file import read_properties
from metalog.wire.client.security import DEFAULT_TIMEOUT_S, ClientSettings
from metalog.wire.client.security import client_settings as settings_of

Settings = TypeVar("Settings")


def topic_client_settings(path: Path | None, files: Files) -> tuple[dict[str, str], list[str]]:
    """librdkafka's settings without the servers, and a line for each unknown key."""
    return _translated(path, files, librdkafka_settings)


def wire_settings(
    path: Path | None, files: Files, *, request_timeout_s: float = DEFAULT_TIMEOUT_S
) -> ClientSettings:
    """The settings of this project's client; the defaults if there is no file."""
    return _translated(
        path, files, lambda keys: settings_of(keys, request_timeout_s=request_timeout_s)
    )


def _translated(
    path: Path | None, files: Files, translate: Callable[[Mapping[str, str]], Settings]
) -> Settings:
    properties = client_properties(path, files)
    properties.pop("bootstrap.servers", None)
    try:
        return translate(properties)
    except InvalidRequest as error:
        raise InvalidSource(f"{path}: {error}") from None


def client_properties(path: Path | None, files: Files) -> dict[str, str]:
    """The file's settings, unchanged; empty if there is no file."""
    return {} if path is None else read_properties(path, files=files)
