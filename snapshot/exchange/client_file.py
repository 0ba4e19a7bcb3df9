"""A client's settings from a file, in Kafka's keys (``--command-config``), for librdkafka.

No value appears in what is said of it: values may be passwords. This module must not connect.
"""

from __future__ import annotations

from pathlib import Path

from metalog.client_settings import librdkafka_settings
from metalog.errors import InvalidRequest, InvalidSource
from metalog.files import Files, read_whole
from metalog.log.folder import unreadable
from metalog.properties import parse_properties, properties_mapping


def client_settings(path: Path | None, files: Files) -> tuple[dict[str, str], list[str]]:
    """The settings without the servers, and a line for each key that is left out; nothing of
    no file."""
    if path is None:
        return {}, []
    try:
        properties = properties_mapping(parse_properties(read_whole(files, path)))
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError as error:
        raise InvalidSource(f"{path}: {error}") from None
    properties.pop("bootstrap.servers", None)
    try:
        return librdkafka_settings(properties)
    except InvalidRequest as error:
        raise InvalidSource(f"{path}: {error}") from None
