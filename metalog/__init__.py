"""An event-sourced metadata log for Kafka-style clusters: its records and their replay.

The names below are what others need from here; each is imported when first used, since
a command's start must not pay for parts that it does not touch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from metalog.errors import ApiError as ApiError
    from metalog.errors import AuthorizerNotReady as AuthorizerNotReady
    from metalog.errors import ConfigException as ConfigException
    from metalog.errors import CorruptLog as CorruptLog
    from metalog.errors import CorruptSnapshot as CorruptSnapshot
    from metalog.errors import ErrorCode as ErrorCode
    from metalog.errors import InvalidRequest as InvalidRequest
    from metalog.errors import InvalidSource as InvalidSource
    from metalog.errors import InvalidTarget as InvalidTarget
    from metalog.errors import LoadTimeout as LoadTimeout
    from metalog.errors import LogFenced as LogFenced
    from metalog.errors import MetalogError as MetalogError
    from metalog.errors import NotController as NotController
    from metalog.errors import Unanswered as Unanswered
    from metalog.errors import UnreadableRecord as UnreadableRecord
    from metalog.image.delta import MetadataDelta as MetadataDelta
    from metalog.image.manifest import Provenance as Provenance
    from metalog.image.metadata import MetadataImage as MetadataImage
    from metalog.loader import Loader as Loader
    from metalog.loader import Loading as Loading
    from metalog.loader import Ready as Ready
    from metalog.loader import Stale as Stale
    from metalog.log.config import log_config as log_config
    from metalog.log.directory import DirectoryLog as DirectoryLog
    from metalog.log.memory import MemoryLog as MemoryLog
    from metalog.log.memory import WritableMemoryLog as WritableMemoryLog
    from metalog.log.opening import open_log as open_log
    from metalog.log.opening import open_writable_log as open_writable_log
    from metalog.log.quorum import QuorumLog as QuorumLog
    from metalog.log.topic import TopicLog as TopicLog
    from metalog.log.topic_writer import WritableTopicLog as WritableTopicLog
    from metalog.log.writer import WritableDirectoryLog as WritableDirectoryLog
    from metalog.replica import Replica as Replica

_MODULES: Final = {
    "ApiError": "metalog.errors",
    "AuthorizerNotReady": "metalog.errors",
    "ConfigException": "metalog.errors",
    "CorruptLog": "metalog.errors",
    "CorruptSnapshot": "metalog.errors",
    "DirectoryLog": "metalog.log.directory",
    "ErrorCode": "metalog.errors",
    "InvalidRequest": "metalog.errors",
    "InvalidSource": "metalog.errors",
    "InvalidTarget": "metalog.errors",
    "LoadTimeout": "metalog.errors",
    "Loader": "metalog.loader",
    "Loading": "metalog.loader",
    "LogFenced": "metalog.errors",
    "MemoryLog": "metalog.log.memory",
    "MetadataDelta": "metalog.image.delta",
    "MetadataImage": "metalog.image.metadata",
    "MetalogError": "metalog.errors",
    "NotController": "metalog.errors",
    "Provenance": "metalog.image.manifest",
    "QuorumLog": "metalog.log.quorum",
    "Ready": "metalog.loader",
    "Replica": "metalog.replica",
    "Stale": "metalog.loader",
    "TopicLog": "metalog.log.topic",
    "Unanswered": "metalog.errors",
    "UnreadableRecord": "metalog.errors",
    "WritableDirectoryLog": "metalog.log.writer",
    "WritableMemoryLog": "metalog.log.memory",
    "WritableTopicLog": "metalog.log.topic_writer",
    "log_config": "metalog.log.config",
    "open_log": "metalog.log.opening",
    "open_writable_log": "metalog.log.opening",
}

__all__ = [
    "ApiError",
    "AuthorizerNotReady",
    "ConfigException",
    "CorruptLog",
    "CorruptSnapshot",
    "DirectoryLog",
    "ErrorCode",
    "InvalidRequest",
    "InvalidSource",
    "InvalidTarget",
    "LoadTimeout",
    "Loader",
    "Loading",
    "LogFenced",
    "MemoryLog",
    "MetadataDelta",
    "MetadataImage",
    "MetalogError",
    "NotController",
    "Provenance",
    "QuorumLog",
    "Ready",
    "Replica",
    "Stale",
    "TopicLog",
    "Unanswered",
    "UnreadableRecord",
    "WritableDirectoryLog",
    "WritableMemoryLog",
    "WritableTopicLog",
    "log_config",
    "open_log",
    "open_writable_log",
]


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value
