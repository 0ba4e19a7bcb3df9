"""A topic's address as people write it.

This module must not connect, nor import a library that connects.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from metalog.errors import InvalidSource

SCHEME: Final = "topic://"
WRITER_SUFFIX: Final = "-writer"
_SNAPSHOTS: Final = "snapshots="
_ADDRESS: Final = re.compile(r"(?P<servers>[^/,?]+(?:,[^/,?]+)*)/(?P<topic>[A-Za-z0-9._-]{1,249})")


class TopicAddress(NamedTuple):
    """The address ``topic://HOST:PORT[,HOST:PORT]/TOPIC``. A log is in partition 0."""

    servers: str
    topic: str
    partition: int = 0

    def __str__(self) -> str:
        return f"{SCHEME}{self.servers}/{self.topic}"

    @property
    def transactional_id(self) -> str:
        """The id by which a new writer of the topic fences the previous writer."""
        return self.topic + WRITER_SUFFIX


def is_topic(text: str) -> bool:
    """Whether the text is a topic's address, valid or not."""
    return text.startswith(SCHEME)


def parse_address(text: str) -> TopicAddress:
    found = _ADDRESS.fullmatch(text.removeprefix(SCHEME))
    if found is None or not is_topic(text):
        raise InvalidSource(f"{text}: give {SCHEME}HOST:PORT[,HOST:PORT]/TOPIC")
    return TopicAddress(found["servers"], found["topic"])


def split_snapshots(text: str) -> tuple[str, str | None]:
    """ADDRESS and DIR of the text ``ADDRESS[?snapshots=DIR]``; DIR can be None."""
    address, mark, query = text.partition("?")
    folder = query.removeprefix(_SNAPSHOTS)
    if mark and (folder == query or not folder):
        raise InvalidSource(f"{text}: after the ? only {_SNAPSHOTS}DIR is supported")
    return address, folder or None
