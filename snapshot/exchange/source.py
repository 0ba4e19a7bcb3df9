"""Opens a SOURCE: what every reading verb takes as its first argument.

A log (a folder, several folders joined by ``+``, a ``.log`` or ``.checkpoint`` file,
``quorum://``, ``topic://``), a store (a file of ACLs, a folder of YAML, ``cluster://``,
``zookeeper://``), or ``@NAME`` of ``metalog.toml``. Opening reads, and changes nothing. This
module must not replay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from metalog.errors import CorruptLog, InvalidSource
from metalog.files import LOCAL_FILES, Files, is_descriptor
from metalog.log.commit import Proven
from metalog.log.directory import DirectoryLog
from metalog.log.folder import unreadable
from metalog.log.layout import (
    CHECKPOINT_SUFFIX,
    PARTITION_FOLDER,
    SEGMENT_SUFFIX,
    avro_snapshot_id,
)
from metalog.log.several import FoldersLog
from metalog.log.single import CheckpointLog, SegmentLog, refuse_ordinary_topic
from metalog.ports import Appended, Log
from metalog.records.batch import Batch
from metalog.records.frame import Undecodable
from snapshot.exchange.store import SUFFIXES as STORE_SUFFIXES
from snapshot.exchange.store import FileStore, Store, is_folder_of_yaml

_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://")
_FORMS: Final = (
    "a metadata.log.dir, folders joined by +, a .log, a .checkpoint, a file of ACLs, "
    "a folder of YAML, quorum://HOST:PORT, topic://HOST:PORT/TOPIC, cluster://HOST:PORT, "
    "zookeeper://HOST:PORT or @NAME"
)


class OpenedLog(Log, Protocol):
    """A log, and what a command says of it beside what it holds."""

    @property
    def path(self) -> Path | str: ...

    @property
    def problems(self) -> tuple[str, ...]:
        """Lines for a person about what is odd, though it can be read."""
        ...

    @property
    def damage(self) -> CorruptLog | None:
        """What keeps it from being read to its end."""
        ...

    @property
    def proven(self) -> Proven: ...

    def bootstrap(self) -> Iterator[Batch] | None:
        """With what a log without records begins, where that is known."""
        ...


class Source(NamedTuple):
    """An opened SOURCE.

    ``kind`` is "folder", "folders", "segment", "snapshot", "quorum" or "topic" of a log, "file",
    "files", "cluster" or "zookeeper" of a store; ``describe`` names it for a person. ``config``
    and ``command_config`` are the files that ``metalog.toml`` gives, and ``notes`` are lines about
    how the name was looked up.
    """

    text: str
    kind: str
    opened: OpenedLog | Store
    describe: str
    config: Path | None
    command_config: Path | None
    notes: tuple[str, ...] = ()

    @property
    def log(self) -> OpenedLog:
        """``InvalidSource`` where the source is a store."""
        if isinstance(self.opened, Store):
            raise InvalidSource(
                f"{self.text}: holds only what is now, without offsets and history; "
                "this needs a metadata log"
            )
        return self.opened

    @property
    def store(self) -> Store | None:
        """None where the source is a log."""
        return self.opened if isinstance(self.opened, Store) else None


def open_source(
    text: str,
    *,
    environ: Mapping[str, str],
    cwd: Path | None = None,
    files: Files = LOCAL_FILES,
    command_config: Path | None = None,
) -> Source:
    """What ``text`` names, opened; ``InvalidSource`` (one line) where nothing can be.

    ``command_config`` has a client's settings; a name's own is used where none is given.
    """
    base, url = cwd or Path(), text
    config = None
    notes: tuple[str, ...] = ()
    if text.startswith("@"):
        from snapshot.exchange.names import look_up

        url, base, config, named, notes = look_up(text, environ, base, files)
        command_config = command_config or named
    scheme = _SCHEME.match(url)
    if scheme is not None:
        remote = _connected(scheme[1], url, base, command_config, files)
        return Source(text, scheme[1], remote, url, config, command_config, notes)
    try:
        kind, opened = _opened(base / url, base, url, files)
    except OSError as error:
        raise unreadable(base / url, error) from None
    return Source(text, kind, opened, f"{kind} {url}", config, command_config, notes)


def _opened(path: Path, base: Path, url: str, files: Files) -> tuple[str, OpenedLog | Store]:
    if not url:
        raise InvalidSource(f"no SOURCE was given; give {_FORMS}")
    if files.is_folder(path):
        if is_folder_of_yaml(path, files):
            return "files", FileStore(path, files)
        return "folder", _opened_folder(path, files)
    if is_descriptor(path):
        return "file", FileStore(path, files)
    if files.is_file(path):
        return _opened_file(path, files)
    if "+" in url:
        parts = url.split("+")
        if "" in parts:
            raise InvalidSource(f"{url}: a folder is missing beside a +; give a+b+c")
        logs = [_opened_folder(base / part, files) for part in parts]
        return "folders", FoldersLog(logs)
    raise InvalidSource(f"{path}: there is no such file or folder; give {_FORMS}")


def _opened_folder(path: Path, files: Files) -> DirectoryLog:
    log = DirectoryLog(path, files=files)
    if not (log.folder.is_marked or _holds_metadata(log)):
        raise InvalidSource(
            f"{path}: no metadata records in it; the log of an ordinary topic? "
            f"A metadata log's folder is called {PARTITION_FOLDER}"
        )
    return log


def _holds_metadata(log: DirectoryLog) -> bool:
    """Whether a record is of the types that only a metadata log has; the first batches tell."""
    for event in log.read(log.bounds().start):
        if isinstance(event, Appended):
            if not all(isinstance(message, Undecodable) for message in event.batch.messages()):
                return True
            if not event.batch.is_control:
                break
    return False


def _opened_file(path: Path, files: Files) -> tuple[str, OpenedLog | Store]:
    if path.suffix == SEGMENT_SUFFIX:
        segment = SegmentLog(path, files=files)
        refuse_ordinary_topic(path, segment.batches(0))
        return "segment", segment
    if path.suffix == CHECKPOINT_SUFFIX or avro_snapshot_id(path.name) is not None:
        return "snapshot", CheckpointLog(path, files=files)
    if path.suffix in STORE_SUFFIXES:
        return "file", FileStore(path, files)
    raise InvalidSource(
        f"{path}: a file of a kind that is not read; its name tells, by ending in {SEGMENT_SUFFIX}"
        f" or {CHECKPOINT_SUFFIX} for a log's, in {', '.join(STORE_SUFFIXES)} for a file of ACLs"
    )


def _connected(
    scheme: str, url: str, base: Path, command_config: Path | None, files: Files
) -> OpenedLog | Store:
    if scheme == "topic":
        from snapshot.exchange.topic import open_topic

        return open_topic(url, base, command_config, files)
    if scheme == "quorum":
        from snapshot.exchange.quorum import open_quorum

        return open_quorum(url, command_config, files)
    if scheme == "cluster":
        from snapshot.exchange.cluster import ClusterStore

        return ClusterStore.opened(url, command_config, files)
    if scheme == "zookeeper":
        return _zookeeper(url)
    raise InvalidSource(f"{url}: {scheme}:// is not known; give {_FORMS}")


def _zookeeper(url: str) -> Store:
    try:
        from snapshot.exchange.zookeeper import ZookeeperStore
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "kazoo":
            raise
        raise InvalidSource(
            f"{url}: needs kazoo, which is not installed; pip install 'kraft-metalog[zookeeper]'"
        ) from None
    return ZookeeperStore(url)
