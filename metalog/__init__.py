"""An event-sourced metadata log for Kafka-style clusters: its records and their replay.

The names below are what others need from here; each is imported when first used, since
a command's start must not pay for parts that it does not touch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from metalog.image.delta import MetadataDelta as MetadataDelta
    from metalog.image.manifest import Provenance as Provenance
    from metalog.image.metadata import MetadataImage as MetadataImage
    from metalog.loader import Loader as Loader
    from metalog.log.directory import DirectoryLog as DirectoryLog
    from metalog.log.memory import MemoryLog as MemoryLog
    from metalog.log.memory import WritableMemoryLog as WritableMemoryLog
    from metalog.log.topic import TopicLog as TopicLog
    from metalog.log.topic_writer import WritableTopicLog as WritableTopicLog
    from metalog.log.writer import WritableDirectoryLog as WritableDirectoryLog
    from metalog.replica import Replica as Replica

_MODULES: Final = {
    "DirectoryLog": "metalog.log.directory",
    "Loader": "metalog.loader",
    "MemoryLog": "metalog.log.memory",
    "MetadataDelta": "metalog.image.delta",
    "MetadataImage": "metalog.image.metadata",
    "Provenance": "metalog.image.manifest",
    "Replica": "metalog.replica",
    "TopicLog": "metalog.log.topic",
    "WritableDirectoryLog": "metalog.log.writer",
    "WritableMemoryLog": "metalog.log.memory",
    "WritableTopicLog": "metalog.log.topic_writer",
}

__all__ = [
    "DirectoryLog",
    "Loader",
    "MemoryLog",
    "MetadataDelta",
    "MetadataImage",
    "Provenance",
    "Replica",
    "TopicLog",
    "WritableDirectoryLog",
    "WritableMemoryLog",
    "WritableTopicLog",
]


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value
