"""Opens a SOURCE, the first argument of most verbs that read.

A SOURCE names a log or a store, in one of the forms of ``source_kinds.FORMS``. ``@NAME`` is a
SOURCE that ``metalog.toml`` defines. Opening a SOURCE changes nothing. This module must not replay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from metalog.disk.files import LOCAL_FILES, Files, is_descriptor
from metalog.errors import InvalidSource
from metalog.log.folder.layout import CHECKPOINT_SUFFIX, SEGMENT_SUFFIX
from metalog.log.folder.location import unreadable
from metalog.log.opening import REMOTE, OpenedLog, is_log_file, log_on_disk, remote_log, scheme_of
from metalog_sources.source_kinds import ANY, LOGS, SourceKinds
from metalog_sources.store import SUFFIXES as STORE_SUFFIXES
from metalog_sources.store import FileStore, Store, is_folder_of_yaml

_FORMS: Final = f"{ANY} or @NAME"
_STORES: Final = ("cluster", "zookeeper")
_HOST_PORT: Final = re.compile(r"[\w.-]+:\d{1,5}(,[\w.-]+:\d{1,5})*", re.ASCII)


class Source(NamedTuple):
    """An opened SOURCE.

    ``kind`` is a key of ``source_kinds.FORMS``. ``describe`` is for people. ``config`` and
    ``kafka_version`` come from ``metalog.toml``, ``command_config`` from the caller or
    ``metalog.toml``. ``notes`` are lines about the look-up of a ``@NAME``.
    """

    text: str
    kind: str
    opened: OpenedLog | Store
    describe: str
    config: Path | None
    command_config: Path | None
    notes: tuple[str, ...] = ()
    kafka_version: str | None = None

    @property
    def log(self) -> OpenedLog:
        """``InvalidSource`` if the source is a store."""
        if isinstance(self.opened, Store):
            raise LOGS.refusal(self.kind, self.text)
        return self.opened

    @property
    def store(self) -> Store | None:
        return self.opened if isinstance(self.opened, Store) else None


def open_source(
    text: str,
    *,
    environ: Mapping[str, str],
    cwd: Path | None = None,
    files: Files = LOCAL_FILES,
    command_config: Path | None = None,
    kinds: SourceKinds = ANY,
) -> Source:
    """Open the source that ``text`` names; ``InvalidSource`` (one line) if it cannot be opened.

    ``command_config`` is a file of client settings. Instead, ``metalog.toml`` can name the file.
    A source of another kind than ``kinds`` is refused before any connection.
    """
    base, url = cwd or Path(), text
    config = None
    notes: tuple[str, ...] = ()
    kafka_version = None
    if text.startswith("@"):
        from metalog_sources.names import look_up

        url, base, config, named, kafka_version, notes = look_up(text, environ, base, files)
        command_config = command_config or named
    scheme = scheme_of(url)
    if scheme is not None:
        if scheme not in (*REMOTE, *_STORES):
            raise InvalidSource(f"{url}: unknown scheme {scheme}://; give {_FORMS}")
        kinds.check(scheme, text)
        remote = _connected(scheme, url, base, command_config, files)
        return Source(text, scheme, remote, url, config, command_config, notes, kafka_version)
    kind, opened = _opened(url, base, files)
    kinds.check(kind, text)
    describe = f"{kind} {url}"
    return Source(text, kind, opened, describe, config, command_config, notes, kafka_version)


def _opened(url: str, base: Path, files: Files) -> tuple[str, OpenedLog | Store]:
    path = base / url
    try:
        if url and files.is_folder(path) and is_folder_of_yaml(path, files):
            return "files", FileStore(path, files)
        if url and is_descriptor(path):
            return "file", FileStore(path, files)
        if url and files.is_file(path) and not is_log_file(path):
            return "file", _opened_file(path, files)
        if _HOST_PORT.fullmatch(url) and not (files.is_folder(path) or files.is_file(path)):
            raise InvalidSource(
                f"{url}: there is no such file or folder; a running cluster is cluster://{url}"
                f" (brokers) or quorum://{url} (controllers)"
            )
    except OSError as error:
        raise unreadable(path, error) from None
    return log_on_disk(url, base, files=files, forms=_FORMS)


def _opened_file(path: Path, files: Files) -> Store:
    if path.suffix.lower() in STORE_SUFFIXES:
        return FileStore(path, files)
    raise InvalidSource(
        f"{path}: unknown kind of file; the name must end in {SEGMENT_SUFFIX}"
        f" or {CHECKPOINT_SUFFIX} (a log), or {', '.join(STORE_SUFFIXES)} (a file of ACLs)"
    )


def _connected(
    scheme: str, url: str, base: Path, command_config: Path | None, files: Files
) -> OpenedLog | Store:
    if scheme in REMOTE:
        from metalog_sources.live.client_file import client_properties

        properties = client_properties(command_config, files)
        return remote_log(url, properties, named=str(command_config), base=base, files=files)
    if scheme == "cluster":
        from metalog_sources.live.cluster import ClusterStore

        return ClusterStore.opened(url, command_config, files)
    return _zookeeper(url)


def _zookeeper(url: str) -> Store:
    try:
        from metalog_sources.live.zookeeper import ZookeeperStore
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "kazoo":
            raise
        raise InvalidSource(
            f"{url}: needs kazoo, which is not installed; pip install 'kraft-metalog[zookeeper]'"
        ) from None
    return ZookeeperStore(url)
