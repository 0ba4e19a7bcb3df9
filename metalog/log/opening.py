"""Opens a metadata log to read it (folder, file, topic, quorum), or to write it (folder, topic).

Modules that connect to a cluster are imported only if the SOURCE needs them. This module must not
know stores (files of ACLs, ``cluster://``), nor replay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from metalog.config.client_settings import librdkafka_settings
from metalog.disk.files import LOCAL_FILES, Files
from metalog.errors import CorruptLog, InvalidRequest, InvalidSource, InvalidTarget, Unanswered
from metalog.log.folder.commit import Proven
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.layout import (
    CHECKPOINT_SUFFIX,
    PARTITION_FOLDER,
    SEGMENT_SUFFIX,
    avro_snapshot_id,
)
from metalog.log.folder.location import unreadable
from metalog.log.folder.merged_folders import FoldersLog
from metalog.log.folder.single_file import CheckpointLog, SegmentLog, refuse_ordinary_topic
from metalog.log.topic.address import parse_address, split_snapshots
from metalog.ports import Appended, Log, WritableLog
from metalog.records.batch import Batch
from metalog.records.frame import Undecodable

if TYPE_CHECKING:
    from metalog.log.topic.records import Encoding

Settings = TypeVar("Settings")

_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://")
_FORMS: Final = (
    "a metadata.log.dir, folders joined by +, a .log, a .checkpoint, quorum://HOST:PORT or "
    "topic://HOST:PORT/TOPIC"
)
_WRITABLE_FORMS: Final = "the metadata.log.dir of a stopped node, or topic://HOST:PORT/TOPIC"
_SERVERS_KEY: Final = "bootstrap.servers"


class OpenedLog(Log, Protocol):
    """A log for reading, with the facts that a command prints about it."""

    @property
    def path(self) -> Path | str:
        """The log's path, or its address as text."""
        ...

    @property
    def problems(self) -> tuple[str, ...]:
        """Oddities that do not prevent reading, one line each."""
        ...

    @property
    def damage(self) -> CorruptLog | None:
        """The first damage that was found, or None."""
        ...

    @property
    def missing(self) -> CorruptLog | None:
        """The error if records at the log's end were lost, else None.

        For several folders: the damage that can hide committed records, or None.
        """
        ...

    @property
    def proven(self) -> Proven:
        """The offset up to which the log is provably committed, and the reason."""
        ...

    def bootstrap(self) -> Iterator[Batch] | None:
        """The batches that the controller of an empty log will write first.

        None if the log has records, or if no file has these batches.
        """
        ...


def open_log(
    source: str | Path,
    kafka_settings: Mapping[str, str] | None = None,
    *,
    files: Files = LOCAL_FILES,
) -> OpenedLog:
    """Open a metadata log for reading, for example by a ``Replica``.

    Opening a ``.log`` or several folders reads all records. Opening a quorum does not connect yet.

    Args:
        source: a ``metadata.log.dir`` or its partition's folder; several folders of one quorum,
            joined by ``+``; a ``.log`` or ``.checkpoint`` file; ``quorum://HOST:PORT[,HOST:PORT]``
            of controllers; or ``topic://HOST:PORT[,HOST:PORT]/TOPIC[?snapshots=DIR]``.
        kafka_settings: for ``quorum://`` and ``topic://``, a Kafka client's settings
            (``security.protocol``, …), as in a ``--command-config`` file.
        files: the disk.

    Returns:
        The log. A folder, a topic or a quorum can be followed while another process writes it.

    Raises:
        InvalidSource: there is no such log, it cannot be read, or a setting is invalid.
        Unanswered: a topic's cluster does not answer.
        CorruptLog: damage prevents opening. Other damage is in the log's ``damage``, ``missing``
            and ``problems``. A damaged snapshot raises when the caller reads the snapshot.
    """
    text = str(source)
    if (scheme := scheme_of(text)) is not None:
        if scheme not in REMOTE:
            raise InvalidSource(f"{text}: {scheme}:// is not a log's address; give {_FORMS}")
        return remote_log(text, kafka_settings or {}, files=files)
    return log_on_disk(text, files=files)[1]


def open_writable_log(
    source: str | Path,
    kafka_settings: Mapping[str, str] | None = None,
    *,
    node_id: int = 1,
    encoding: Encoding | None = None,
    files: Files = LOCAL_FILES,
) -> WritableLog:
    """Open a metadata log for writing by a ``Replica``, which claims the log.

    Args:
        source: the ``metadata.log.dir`` of a stopped node that is its quorum's only voter
            (``snapshot.format_log`` makes such a folder), or
            ``topic://HOST:PORT[,HOST:PORT]/TOPIC``. A missing topic is created.
        kafka_settings: for ``topic://``, a Kafka client's settings.
        node_id: for ``topic://``, the leader's id in the LEADER_CHANGE record.
        encoding: for a ``topic://`` without records, ``kraft`` (the default) or ``avro``.
        files: the disk.

    Returns:
        The log, not yet claimed or connected. See ``WritableLog.claim`` for later errors.

    Raises:
        InvalidTarget: this project cannot write a log of this kind.
        InvalidSource: there is no such log, it cannot be read, or a setting cannot be translated.
        CorruptLog: ``leader-epoch-checkpoint`` is damaged.
    """
    text = str(source)
    scheme = scheme_of(text)
    if scheme == "topic":
        from metalog.log.topic.writer import WritableTopicLog

        address, snapshots = _topic_and_snapshots(text, Path(), files)
        settings = _librdkafka(kafka_settings or {}, "kafka_settings")
        return WritableTopicLog(
            address,
            settings,
            node_id=node_id,
            snapshots=snapshots,
            encoding=encoding,
            files=files,
            check_answers=partial(_check_reachable, address, kafka_settings or {}),
        )
    if scheme == "quorum":
        raise InvalidTarget(
            f"{text}: only its controllers write it; change the cluster with an admin client, "
            "or with metalog apply cluster://HOST:PORT"
        )
    if scheme is None and not text:
        raise InvalidSource(f"SOURCE is missing; give {_WRITABLE_FORMS}")
    path = Path(text)
    if scheme is None and not (files.is_folder(path) or files.is_file(path)):
        raise InvalidSource(
            f"{text}: there is no such folder; check the path, or create it with metalog format"
        )
    if scheme is not None or not files.is_folder(path):
        raise InvalidTarget(f"{text}: not a log that can be written; give {_WRITABLE_FORMS}")
    from metalog.log.folder_writer.writer import WritableDirectoryLog

    try:
        return WritableDirectoryLog(text, files=files)
    except OSError as error:
        raise unreadable(path, error) from None


REMOTE: Final = ("quorum", "topic")
"""The URL schemes of logs in a cluster."""


def scheme_of(text: str) -> str | None:
    """``topic`` for ``topic://…``; None if the text has no scheme."""
    found = _SCHEME.match(text)
    return None if found is None else found[1]


def remote_log(
    url: str,
    properties: Mapping[str, str],
    *,
    named: str = "kafka_settings",
    base: Path = Path(),
    files: Files,
) -> OpenedLog:
    """The log at a ``quorum://`` or ``topic://`` URL.

    ``named`` is the name of ``properties`` in errors. A relative DIR in ``?snapshots=DIR`` is below
    ``base``.
    """
    if scheme_of(url) == "quorum":
        return _quorum(url, properties, named)
    from metalog.log.topic.reader import TopicLog

    address, snapshots = _topic_and_snapshots(url, base, files)
    settings = _librdkafka(properties, named)
    _check_reachable(address, properties)
    log = TopicLog(address, settings, snapshots=snapshots, files=files)
    log.check()
    return log


def log_on_disk(
    text: str, base: Path = Path(), *, files: Files, forms: str = _FORMS
) -> tuple[str, OpenedLog]:
    """The kind of a log on disk (folder, folders, segment or snapshot), and the log."""
    path = base / text
    try:
        if text and files.is_folder(path):
            return "folder", _folder(path, files)
        if text and files.is_file(path):
            return _file(path, files)
        if "+" not in text:
            if text:
                advice = "check the path"
                if text.startswith("@"):
                    advice = "give the url of this name of metalog.toml"
                raise InvalidSource(f"{path}: there is no such file or folder; {advice}")
            raise InvalidSource(f"SOURCE is missing; give {forms}")
        parts = text.split("+")
        if "" in parts:
            raise InvalidSource(f"{text}: a folder is missing beside a +; write FOLDER+FOLDER")
        return "folders", FoldersLog([_folder(base / part, files) for part in parts])
    except OSError as error:
        raise unreadable(path, error) from None


def is_log_file(path: Path) -> bool:
    """Whether ``path`` has the name of a segment or a snapshot."""
    is_snapshot = path.suffix == CHECKPOINT_SUFFIX or avro_snapshot_id(path.name) is not None
    return is_snapshot or path.suffix == SEGMENT_SUFFIX


def _file(path: Path, files: Files) -> tuple[str, OpenedLog]:
    if path.suffix == SEGMENT_SUFFIX:
        segment = SegmentLog(path, files=files)
        refuse_ordinary_topic(path, segment.batches(0))
        return "segment", segment
    if is_log_file(path):
        return "snapshot", CheckpointLog(path, files=files)
    raise InvalidSource(
        f"{path}: unknown kind of file; the name of a log's file ends in "
        f"{SEGMENT_SUFFIX} or {CHECKPOINT_SUFFIX}, or is OFFSET-EPOCH.avro as in an export"
    )


def _folder(path: Path, files: Files) -> DirectoryLog:
    log = DirectoryLog(path, files=files)
    if not (log.folder.is_marked or _holds_metadata(log)):
        raise InvalidSource(
            f"{path}: no metadata records in it; the log of an ordinary topic? "
            f"A metadata log's folder is called {PARTITION_FOLDER}"
        )
    return log


def _holds_metadata(log: DirectoryLog) -> bool:
    """Whether the first batches have a record that only a metadata log has."""
    for event in log.read(log.bounds().start):
        if isinstance(event, Appended):
            if not all(isinstance(message, Undecodable) for message in event.batch.messages()):
                return True
            if not event.batch.is_control:
                break
    return False


def _quorum(url: str, properties: Mapping[str, str], named: str) -> OpenedLog:
    from metalog.log.quorum.observer import SCHEME, QuorumLog
    from metalog.wire.client.security import client_settings

    settings = _translated(properties, client_settings, named)
    try:
        return QuorumLog(url.removeprefix(SCHEME), settings)
    except InvalidRequest as error:
        raise InvalidSource(f"{url}: {error}; give {SCHEME}HOST:PORT[,HOST:PORT]") from None


def _check_reachable(address: str, properties: Mapping[str, str]) -> None:
    """Raise ``Unanswered`` if no server accepts a connection and answers a request.

    This check is faster than librdkafka, and the error lists the attempts.
    """
    from metalog.hosts.host_port import parse_addresses
    from metalog.wire.client.bootstrap import first_connection
    from metalog.wire.client.cluster_client import check_needs_no_login
    from metalog.wire.client.security import client_settings

    try:
        settings = _translated(properties, client_settings, "")
    except InvalidSource:
        return  # librdkafka supports logins that our own client does not
    try:
        servers = parse_addresses(parse_address(address).servers)
        first_connection(servers, settings, check=check_needs_no_login).close()
    except InvalidSource:
        raise
    except InvalidRequest as error:
        raise Unanswered(f"{address}: {error}") from None


def _topic_and_snapshots(url: str, base: Path, files: Files) -> tuple[str, Path | None]:
    address, folder = split_snapshots(url)
    snapshots = None if folder is None else base / folder
    if snapshots is not None and not files.is_folder(snapshots):
        raise InvalidSource(f"{snapshots}: there is no such folder of snapshots")
    return address, snapshots


def _librdkafka(properties: Mapping[str, str], named: str) -> dict[str, str]:
    return _translated(properties, librdkafka_settings, named)[0]


def _translated(
    properties: Mapping[str, str], translate: Callable[[Mapping[str, str]], Settings], named: str
) -> Settings:
    try:
        return translate({key: value for key, value in properties.items() if key != _SERVERS_KEY})
    except InvalidRequest as error:
        raise InvalidSource(f"{named}: {error}") from None
