"""Opens a SOURCE: what every reading verb takes as its first argument.

A folder, several folders joined by ``+``, a ``.log`` or ``.checkpoint`` file, or ``@NAME``
of ``metalog.toml``. Opening reads, and changes nothing. This module must not replay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from metalog.errors import InvalidSource
from metalog.files import LOCAL_FILES, Files
from metalog.log.directory import DirectoryLog
from metalog.log.folder import unreadable
from metalog.log.layout import CHECKPOINT_SUFFIX, SEGMENT_SUFFIX
from metalog.log.several import QuorumLog
from metalog.log.single import CheckpointLog, SegmentLog, refuse_ordinary_topic

_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://")
_LATER_SCHEMES: Final = ("topic", "quorum", "cluster", "zookeeper")
_EXPORTS: Final = (".yaml", ".yml", ".json", ".csv", ".avro")
_FORMS: Final = "a metadata.log.dir, folders joined by +, a .log, a .checkpoint or @NAME"


OpenedLog = DirectoryLog | QuorumLog | SegmentLog | CheckpointLog


class Source(NamedTuple):
    """An opened SOURCE.

    ``kind`` is "folder", "folders", "segment" or "snapshot"; ``describe`` names it for a
    person. ``config`` and ``command_config`` are the files that ``metalog.toml`` gives.
    """

    text: str
    kind: str
    log: OpenedLog
    describe: str
    config: Path | None
    command_config: Path | None


def open_source(
    text: str,
    *,
    environ: Mapping[str, str],
    cwd: Path | None = None,
    files: Files = LOCAL_FILES,
) -> Source:
    """What ``text`` names, opened; ``InvalidSource`` (one line) where nothing can be."""
    base, url = cwd or Path(), text
    config = command_config = None
    if text.startswith("@"):
        from snapshot.exchange.names import look_up

        url, base, config, command_config = look_up(text, environ, base, files)
    _refuse_other_kinds(url)
    try:
        kind, log = _opened(base / url, base, url, files)
    except OSError as error:
        raise unreadable(base / url, error) from None
    return Source(text, kind, log, f"{kind} {url}", config, command_config)


def _opened(path: Path, base: Path, url: str, files: Files) -> tuple[str, OpenedLog]:
    if not url:
        raise InvalidSource(f"no SOURCE was given; give {_FORMS}")
    if files.is_folder(path):
        return "folder", DirectoryLog(path, files=files)
    if files.is_file(path):
        return _opened_file(path, files)
    if "+" in url:
        parts = url.split("+")
        if "" in parts:
            raise InvalidSource(f"{url}: a folder is missing beside a +; give a+b+c")
        logs = [DirectoryLog(base / part, files=files) for part in parts]
        return "folders", QuorumLog(logs)
    raise InvalidSource(f"{path}: there is no such file or folder; give {_FORMS}")


def _opened_file(path: Path, files: Files) -> tuple[str, SegmentLog | CheckpointLog]:
    if path.suffix == SEGMENT_SUFFIX:
        segment = SegmentLog(path, files=files)
        refuse_ordinary_topic(path, segment.batches(0))
        return "segment", segment
    if path.suffix == CHECKPOINT_SUFFIX:
        return "snapshot", CheckpointLog(path, files=files)
    if path.suffix in _EXPORTS:
        raise InvalidSource(f"{path}: exports cannot be read by this version; give {_FORMS}")
    raise InvalidSource(f"{path}: neither a .log nor a .checkpoint; give {_FORMS}")


def _refuse_other_kinds(url: str) -> None:
    match = _SCHEME.match(url)
    if match is None:
        return
    if match[1] in _LATER_SCHEMES:
        raise InvalidSource(f"{url}: {match[1]}:// is not in this version; give {_FORMS}")
    raise InvalidSource(f"{url}: {match[1]}:// is not known; give {_FORMS}")
