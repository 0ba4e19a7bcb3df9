"""An event-sourced metadata log for Kafka-style clusters: its records and their replay.

docs/reference/api.md describes the exported names.
"""

from typing import TYPE_CHECKING

from metalog.lazy import lazy_names

if TYPE_CHECKING:
    from metalog.errors import ApiError as ApiError
    from metalog.errors import AuthorizerNotReady as AuthorizerNotReady
    from metalog.errors import ConfigException as ConfigException
    from metalog.errors import CorruptLog as CorruptLog
    from metalog.errors import CorruptSnapshot as CorruptSnapshot
    from metalog.errors import ErrorCode as ErrorCode
    from metalog.errors import InvalidMoment as InvalidMoment
    from metalog.errors import InvalidRequest as InvalidRequest
    from metalog.errors import InvalidSource as InvalidSource
    from metalog.errors import InvalidTarget as InvalidTarget
    from metalog.errors import LoadTimeout as LoadTimeout
    from metalog.errors import LogFenced as LogFenced
    from metalog.errors import MetalogError as MetalogError
    from metalog.errors import NotController as NotController
    from metalog.errors import Unanswered as Unanswered
    from metalog.errors import UncertainSource as UncertainSource
    from metalog.errors import UnreadableRecord as UnreadableRecord
    from metalog.image.delta import MetadataDelta as MetadataDelta
    from metalog.image.manifest import Manifest as Manifest
    from metalog.image.manifest import Provenance as Provenance
    from metalog.image.metadata import MetadataImage as MetadataImage
    from metalog.loader import Loader as Loader
    from metalog.loader import Loading as Loading
    from metalog.loader import Ready as Ready
    from metalog.loader import Stale as Stale
    from metalog.log.config import log_config as log_config
    from metalog.log.folder.directory import DirectoryLog as DirectoryLog
    from metalog.log.folder_writer.writer import WritableDirectoryLog as WritableDirectoryLog
    from metalog.log.memory import MemoryLog as MemoryLog
    from metalog.log.memory import WritableMemoryLog as WritableMemoryLog
    from metalog.log.opening import OpenedLog as OpenedLog
    from metalog.log.opening import open_log as open_log
    from metalog.log.opening import open_writable_log as open_writable_log
    from metalog.log.properties_file import read_properties as read_properties
    from metalog.log.quorum.observer import QuorumLog as QuorumLog
    from metalog.log.topic.reader import TopicLog as TopicLog
    from metalog.log.topic.writer import WritableTopicLog as WritableTopicLog
    from metalog.ports import AclCreateResult as AclCreateResult
    from metalog.ports import AclDeleteResult as AclDeleteResult
    from metalog.ports import Publisher as Publisher
    from metalog.ports import WritableLog as WritableLog
    from metalog.records.batch import Batch as Batch
    from metalog.records.batch import decode_batch as decode_batch
    from metalog.replica.replica import Replica as Replica
    from metalog.scram import ScramCredential as ScramCredential
    from metalog.scram import ScramMechanism as ScramMechanism
    from metalog.wire.client.passwords import EncryptionRequired as EncryptionRequired
    from metalog.wire.client.passwords import NewPassword as NewPassword
    from metalog.wire.client.passwords import PasswordClient as PasswordClient
    from metalog.wire.client.passwords import PasswordRefused as PasswordRefused
    from metalog.wire.client.passwords import ScramEntity as ScramEntity
    from metalog.wire.client.passwords import SetScramPasswordResult as SetScramPasswordResult

if not TYPE_CHECKING:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "metalog.errors": "ApiError AuthorizerNotReady ConfigException CorruptLog "
            "CorruptSnapshot ErrorCode InvalidMoment InvalidRequest InvalidSource InvalidTarget "
            "LoadTimeout LogFenced MetalogError NotController Unanswered UncertainSource "
            "UnreadableRecord",
            "metalog.image.delta": "MetadataDelta",
            "metalog.image.manifest": "Manifest Provenance",
            "metalog.image.metadata": "MetadataImage",
            "metalog.loader": "Loader Loading Ready Stale",
            "metalog.log.config": "log_config",
            "metalog.log.folder.directory": "DirectoryLog",
            "metalog.log.memory": "MemoryLog WritableMemoryLog",
            "metalog.log.opening": "OpenedLog open_log open_writable_log",
            "metalog.log.properties_file": "read_properties",
            "metalog.log.quorum.observer": "QuorumLog",
            "metalog.log.topic.reader": "TopicLog",
            "metalog.log.topic.writer": "WritableTopicLog",
            "metalog.log.folder_writer.writer": "WritableDirectoryLog",
            "metalog.ports": "AclCreateResult AclDeleteResult Publisher WritableLog",
            "metalog.records.batch": "Batch decode_batch",
            "metalog.replica.replica": "Replica",
            "metalog.scram": "ScramCredential ScramMechanism",
            "metalog.wire.client.passwords": "EncryptionRequired NewPassword PasswordClient "
            "PasswordRefused ScramEntity SetScramPasswordResult",
        },
    )
