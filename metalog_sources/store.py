"""Stores: sources of present ACLs and users, without offsets or history.

This module reads the stores that are files. It must not know what a store is used for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

from metalog.acl import Acl, ResourcePatternFilter, words_of
from metalog.disk.files import Files, is_descriptor, read_whole
from metalog.errors import CorruptLog, InvalidSource
from metalog.ids import Uuid
from metalog.image.metadata import MetadataImage
from metalog.image.state.acls import AclsImage
from metalog.image.state.scram import ScramImage
from metalog.image.table import Table
from metalog.loader import LoadDoubt
from metalog.log.folder.location import unreadable
from metalog.scram import ScramCredential, ScramMechanism
from metalog_sources.certainty import marks_in
from metalog_sources.formats.document import AclEntry, Document, ScramUser, joined

if TYPE_CHECKING:
    from metalog.wire.client.cluster_client import ListedTopic

YAML_SUFFIXES: Final = (".yaml", ".yml")
_SCRIPT: Final = ".sh"
"""A script keeps its byte order mark, because bash reads the mark as part of a word."""
SUFFIXES: Final = (*YAML_SUFFIXES, ".json", ".jsonl", ".csv", ".avro", _SCRIPT)
_LOG_MARKS: Final = ("__cluster_metadata-0", "meta.properties", "partition.metadata")
_LOG_SUFFIXES: Final = (".log", ".checkpoint")
_DEEPEST: Final = 8


class StoreState(NamedTuple):
    """The content of a store.

    ``problems`` are lines about oddities. ``unread`` has doubts about ACLs that cannot be read and
    perhaps exist; ``unread_users`` has such doubts about SCRAM users.
    """

    document: Document
    problems: tuple[str, ...] = ()
    unread: tuple[LoadDoubt, ...] = ()
    unread_users: tuple[LoadDoubt, ...] = ()

    @property
    def doubts(self) -> tuple[LoadDoubt, ...]:
        """Why answers about ACLs are not certain: ``unread``, and the document's ``missing``."""
        declared = (LoadDoubt(1, CorruptLog(line)) for line in self.document.missing)
        return (*self.unread, *declared)


@runtime_checkable
class Store(Protocol):
    def state(self) -> StoreState:
        """Each call reads the store again."""
        ...


@runtime_checkable
class NarrowStore(Store, Protocol):
    """A store that can return a part of its ACLs."""

    def state_about(
        self, patterns: Sequence[ResourcePatternFilter], principals: Sequence[str] = ()
    ) -> StoreState:
        """The ACLs on resources that ``patterns`` match, the ACLs of ``principals``, and the SCRAM
        users among ``principals``; without ACLs that cannot be parsed. A call sends one request for
        each pattern and each principal, and at most one for the SCRAM users."""
        ...


@runtime_checkable
class TopicStore(Store, Protocol):
    def topics(self) -> list[ListedTopic]:
        """The topics that the caller may describe."""
        ...


class FileStore:
    """A file of ACLs, or all YAML files in a folder and its subfolders. A pipe can contain YAML or
    JSON lines."""

    def __init__(self, path: Path, files: Files) -> None:
        self._path = path
        self._files = files

    def state(self) -> StoreState:
        if not self._files.is_folder(self._path):
            return self._read(self._path)
        files = list(_visible_files(self._path, self._files))
        document = joined(self._read(path).document for path in files if _is_yaml(path))
        left_out = tuple(
            f"{path}: left out: in a folder, only {' and '.join(YAML_SUFFIXES)} files are read"
            for path in files
            if _suffix(path) in SUFFIXES and not _is_yaml(path)
        )
        return StoreState(document, left_out)

    def _read(self, path: Path) -> StoreState:
        document, problems, *_ = self._parsed(path)
        missing = tuple(f"{path} is incomplete: {line}" for line in document.missing)
        return StoreState(document._replace(missing=missing) if missing else document, problems)

    def _parsed(self, path: Path) -> StoreState:
        try:
            data = read_whole(self._files, path)
        except OSError as error:
            raise unreadable(path, error) from None
        if _suffix(path) == ".avro":
            from metalog_sources.formats.avro import read_avro

            document, problem = read_avro(data, str(path))
            return StoreState(document, () if problem is None else (problem,))
        try:
            text = data.decode("utf-8" if _suffix(path) == _SCRIPT else "utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InvalidSource(f"{path}, line {line}: not UTF-8; save it as UTF-8") from None
        document = _reader(path, text)(text, str(path))
        missing = () if _suffix(path) == ".csv" else marks_in(text)
        return StoreState(document._replace(missing=(*document.missing, *missing)))


def _reader(path: Path, text: str) -> Callable[[str, str], Document]:
    if _suffix(path) in YAML_SUFFIXES or (is_descriptor(path) and text.lstrip()[:1] != "{"):
        from metalog_sources.formats.yaml import read_yaml

        return read_yaml
    if _suffix(path) == ".csv":
        from metalog_sources.formats.csv import read_csv

        return read_csv
    if _suffix(path) == _SCRIPT:
        from metalog_sources.formats.commands.kafka_acls import read_kafka_acls

        return read_kafka_acls
    from metalog_sources.formats.json import read_json

    return read_json


def is_folder_of_yaml(folder: Path, files: Files) -> bool:
    """Whether ``folder`` has YAML files, in it or below, and no file of a log directly in it."""
    names = files.names(folder)
    if any(name in _LOG_MARKS or name.endswith(_LOG_SUFFIXES) for name in names):
        return False
    return any(map(_is_yaml, _visible_files(folder, files, refuses_deeper=False)))


def yaml_files(folder: Path, files: Files) -> Iterator[Path]:
    """The YAML files in ``folder`` and its subfolders, sorted, without names that begin with a dot.

    ``InvalidSource`` if folders are nested too deeply, for example because a link leads back.
    """
    return filter(_is_yaml, _visible_files(folder, files))


def _visible_files(
    folder: Path, files: Files, depth: int = 0, *, refuses_deeper: bool = True
) -> Iterator[Path]:
    for name in files.names(folder):
        path = folder / name
        if name.startswith("."):
            continue
        if not files.is_folder(path):
            yield path
        elif depth < _DEEPEST:
            yield from _visible_files(path, files, depth + 1, refuses_deeper=refuses_deeper)
        elif refuses_deeper:
            raise InvalidSource(
                f"{path}: more than {_DEEPEST} nested folders; give a folder further down as"
                " SOURCE, or remove a link that leads back"
            )


def _is_yaml(path: Path) -> bool:
    return _suffix(path) in YAML_SUFFIXES


def _suffix(path: Path) -> str:
    """The suffix in lower case, because other systems write ``A.YML``."""
    return path.suffix.lower()


def image_of(document: Document) -> MetadataImage:
    """An image with only the ACLs and users of ``document``.

    A store has no ids, so each ACL gets its ``derived_id``.
    """
    by_id = Table((derived_id(acl), acl) for acl in document.acls)
    mechanisms: dict[ScramMechanism, dict[str, ScramCredential]] = {}
    for user, mechanism, credential in document.users:
        mechanisms.setdefault(mechanism, {})[user] = credential
    scram = Table((mechanism, Table(users.items())) for mechanism, users in mechanisms.items())
    return MetadataImage(acls=AclsImage(by_id), scram=ScramImage(scram))


def document_of(image: MetadataImage) -> Document:
    acls = dict.fromkeys(image.acls.by_id.values())
    users = tuple(
        ScramUser(user, mechanism, credential)
        for mechanism, found in image.scram.mechanisms.items()
        for user, credential in found.items()
    )
    return Document(tuple(map(AclEntry, acls)), users=users)


def derived_id(acl: Acl) -> Uuid:
    """A version 8 UUID (RFC 9562) derived from the ACL."""
    import hashlib

    digest = bytearray(
        hashlib.sha256("\0".join(words_of(acl)).encode("utf-8", "replace")).digest()[:16]
    )
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    return Uuid(bytes(digest))
