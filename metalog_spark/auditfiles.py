"""The files of an audit log: which they are, which of them is which, their parts and lines.

A file is known by how it begins, not by its name, since logs are rotated, packed and copied: a
longer one that begins as another does is that one, grown. A plain file is divided at byte
offsets, and a line belongs to the part that it begins in; a packed one is one part. Lines end
at LF alone. This module must not know what a line says, nor Spark.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.log.topic_address import is_topic
from metalog_spark.folder import check_is_on_disk

PART_BYTES: Final = 64 << 20
BLOCK_BYTES: Final = 1 << 20
DAMAGED: Final = "the packed file is damaged"
LONGEST_LINE: Final = 1 << 20
_IN_EACH_LINE: Final = b"Principal "
_SOON_BYTES: Final = 64 << 20
_SHOWN: Final = 1_000
_HEAD_BYTES: Final = 16 << 10
"""More than a container's start scripts print, which is the same each time."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = 16 + zlib.MAX_WBITS
_KAFKAS_NAME: Final = "kafka-authorizer"


class Head(NamedTuple):
    """The first ``length`` bytes, unpacked, by their SHA-256."""

    length: int
    digest: str


class AuditFile(NamedTuple):
    """``path`` is absolute, ``size`` that on disk; ``begins`` are its first bytes, unpacked."""

    path: str
    size: int
    is_packed: bool
    begins: bytes

    @property
    def name(self) -> str:
        return as_text(self.path)

    @property
    def head(self) -> Head:
        return _head(self.begins)


class SortedOut(NamedTuple):
    """``taken`` are files with the names that their rows have, ``same`` those left out with the
    one that holds their lines, ``replaced`` by those names the known ones of the same file."""

    taken: Sequence[tuple[AuditFile, str]]
    same: Sequence[tuple[AuditFile, AuditFile]]
    replaced: Mapping[str, Set[str]]

    def gone(self, left_out: Set[str] = frozenset()) -> Set[str]:
        """All names whose rows give way to those of the files taken, but for some."""
        taken = self.replaced.keys() - left_out
        return taken.union(*(self.replaced[name] for name in taken))


class Part(NamedTuple):
    """The lines that begin at ``start`` or later and before ``end``."""

    path: str
    is_packed: bool
    start: int
    end: int


class Block(NamedTuple):
    """Whole lines, each but perhaps the file's last with its LF; or one that is not whole, or
    none, and the ``fault`` that says why."""

    lines: bytes
    fault: str | None = None


def as_text(path: str) -> str:
    """``path`` as a table can hold it: what is no UTF-8 shows as ``\\xf6``."""
    return os.fsencode(path).decode(errors="backslashreplace")


def find_files(patterns: Sequence[str]) -> list[AuditFile]:
    """The files that ``patterns`` name: files, folders with all below them, globs (``**`` too)."""
    paths: dict[str, None] = {}
    for pattern in patterns:
        found = sorted(_files_of(pattern))
        if not found:
            raise InvalidRequest(f"{pattern}: {_why_nothing(Path(pattern))}")
        paths.update(dict.fromkeys(found))
    return [_audit_file(path) for path in paths]


def _why_nothing(path: Path) -> str:
    if path.is_dir():
        return "there is no file in it"
    if path.exists():
        return "not a file, and audit logs are read in several places at once; write it to one"
    return "no such file, and none that matches"


def _files_of(pattern: str) -> Iterator[str]:
    if not pattern:
        raise InvalidRequest("an audit log is named by nothing: is a variable of the shell empty?")
    if is_topic(pattern):
        raise InvalidRequest(
            f"{pattern}: a topic goes on, and its lines go; metalog pipeline follow reads it"
        )
    check_is_on_disk(pattern)
    path = Path(pattern).absolute()
    for root in [path] if path.exists() else _matching(path):
        inside = _below(root) if root.is_dir() else [root]
        yield from (str(each) for each in inside if each.is_file())


def _matching(pattern: Path) -> list[Path]:
    anchor = Path(pattern.anchor)
    try:
        return list(anchor.glob(str(pattern.relative_to(anchor))))
    except ValueError as error:
        raise InvalidRequest(f"{pattern}: no pattern of files: {error}") from None


def _below(root: Path) -> Iterator[Path]:
    """What is in all folders below, behind links too; OSError where one cannot be looked into."""
    seen: set[Path] = set()
    for place, folders, names in os.walk(root, onerror=_raise, followlinks=True):
        folder = Path(place)
        if folder.resolve() in seen:
            folders.clear()
            continue
        seen.add(folder.resolve())
        folders.sort(key=lambda name: ((folder / name).is_symlink(), name))
        yield from (folder / name for name in names)


def _raise(error: OSError) -> None:
    raise error


def _audit_file(path: str) -> AuditFile:
    with Path(path).open("rb") as file:
        begins = file.read(_HEAD_BYTES)
        size = file.seek(0, 2)
        is_packed = begins.startswith(_GZIP_MAGIC)
        if is_packed:
            file.seek(0)
            with suppress(zlib.error, EOFError):
                begins = b""
                for unpacked in _unpacked(file):
                    begins += unpacked
                    if len(begins) >= _HEAD_BYTES:
                        break
    return AuditFile(path, size, is_packed, begins[:_HEAD_BYTES])


def _head(begins: bytes) -> Head:
    return Head(len(begins), hashlib.sha256(begins).hexdigest())


def sorted_out(files: Sequence[AuditFile], known: Mapping[str, Head]) -> SortedOut:
    """Which of ``files`` are which, beside those ``known`` by the names of their rows.

    A file that begins as another did is that one: rotated, packed, copied or grown. Of several
    such the longest is taken.
    """
    names: dict[Head, list[str]] = {}
    for name, head in known.items():
        if head.length:
            names.setdefault(head, []).append(name)
    lengths = sorted({head.length for head in names})
    longest: dict[int, AuditFile] = {}
    for group in _alike(files):
        longest |= dict.fromkeys(map(id, group), _longest(group))
    taken = [file for file in files if longest[id(file)] is file]
    replaced = [
        {name for head in _heads(file.begins, lengths) for name in names.get(head, ())}
        for file in taken
    ]
    used = {name for each in names.values() for name in each}.difference(*replaced)
    named = [(file, _unused(file.name, used)) for file in taken]
    return SortedOut(
        named,
        [(file, longest[id(file)]) for file in files if longest[id(file)] is not file],
        {name: gone for (_, name), gone in zip(named, replaced, strict=True)},
    )


def _heads(begins: bytes, lengths: Sequence[int]) -> Iterator[Head]:
    """Those of ``lengths``, which ascend, that ``begins`` has."""
    digest, reached = hashlib.sha256(), 0
    for length in lengths:
        if length > len(begins):
            return
        digest.update(begins[reached:length])
        reached = length
        yield Head(length, digest.hexdigest())


def _alike(files: Sequence[AuditFile]) -> Iterator[list[AuditFile]]:
    """Files of which each begins as the first, as far as it goes. In the order of their bytes
    what begins like a file follows it at once."""
    group: list[AuditFile] = []
    for file in sorted(files, key=lambda file: file.begins, reverse=True):
        if group and file.begins and group[0].begins.startswith(file.begins):
            group.append(file)
            continue
        if group:
            yield group
        group = [file]
    if group:
        yield group


def _longest(group: Sequence[AuditFile]) -> AuditFile:
    return group[0] if len(group) == 1 else max(group, key=_length)


def _length(file: AuditFile) -> int:
    """In bytes, unpacked, as far as it can be."""
    if not file.is_packed:
        return file.size
    length = 0
    with Path(file.path).open("rb") as packed, suppress(zlib.error, EOFError):
        for chunk in _unpacked(packed):
            length += len(chunk)
    return length


def _unused(path: str, used: Set[str]) -> str:
    """``path``, or with a number where the rows of another file that had it are kept."""
    return next(
        name
        for name in chain([path], (f"{path} ({number})" for number in count(2)))
        if name not in used
    )


def broker_of(path: str, pattern: re.Pattern[str] | None) -> str:
    """Whose log ``path`` is: by ``pattern``, its first group or all of it; without one, the
    folder's name if the file's is Kafka's own, ``kafka-authorizer``, else the file's, to its
    first dot."""
    if pattern is not None:
        found = pattern.search(path)
        if found is None:
            raise InvalidRequest(f"{path}: {pattern.pattern!r} finds no broker's name in it")
        return found[min(pattern.groups, 1)] or path
    name = Path(path).name.partition(".")[0]
    return Path(path).parent.name if name == _KAFKAS_NAME else name or Path(path).name


def parts_of(file: AuditFile, part_bytes: int = PART_BYTES) -> list[Part]:
    if file.is_packed:
        return [Part(file.path, True, 0, file.size)]
    return [
        Part(file.path, False, start, min(start + part_bytes, file.size))
        for start in range(0, file.size, part_bytes)
    ]


def count_lines(part: Part) -> int:
    """How many lines begin in a part of a plain file."""
    first = 1 if part.start == 0 < part.end else 0
    position = max(part.start - 1, 0)
    lines = first
    with Path(part.path).open("rb") as file:
        file.seek(position)
        while position < part.end - 1:
            read = file.read(min(BLOCK_BYTES, part.end - 1 - position))
            if not read:
                break
            lines += read.count(b"\n")
            position += len(read)
    return lines


def read_blocks(part: Part) -> Iterator[Block]:
    try:
        with Path(part.path).open("rb") as file:
            yield from whole_lines(_unpacked(file) if part.is_packed else _ranged(file, part))
    except OSError as error:
        raise InvalidRequest(f"{part.path}: cannot be read: {error.strerror}") from None


def has_no_audit_line(files: Sequence[AuditFile]) -> bool:
    """Whether that is seen without looking at more than some of what they hold, unpacked."""
    left = _SOON_BYTES
    parts = (part for file in files for part in parts_of(file))
    for block in chain.from_iterable(map(read_blocks, parts)):
        left -= len(block.lines)
        if left < 0 or block.fault is not None or _IN_EACH_LINE in block.lines:
            return False
    return True


def _ranged(file: BinaryIO, part: Part) -> Iterator[bytes]:
    """From where the first line of the part begins to where the last one ends."""
    if part.start > 0:
        file.seek(part.start - 1)
        while (skipped := file.readline(BLOCK_BYTES)) and not skipped.endswith(b"\n"):
            pass
    position = file.tell()
    read = b"\n"
    while position < part.end and (read := file.read(min(BLOCK_BYTES, part.end - position))):
        position += len(read)
        yield read
    while not read.endswith(b"\n") and (read := file.readline(BLOCK_BYTES)):
        yield read


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """What was packed, up to the byte where damage shows; then ``zlib.error`` or EOFError."""
    unpacker = zlib.decompressobj(_GZIP)
    while packed := file.read(BLOCK_BYTES):
        while packed:
            if unpacker.eof:
                unpacker = zlib.decompressobj(_GZIP)
            yield unpacker.decompress(packed, BLOCK_BYTES)
            packed = unpacker.unconsumed_tail or unpacker.unused_data.lstrip(b"\0")
    if not unpacker.eof:
        raise EOFError("it ends too soon")


def whole_lines(chunks: Iterable[bytes]) -> Iterator[Block]:
    """``chunks`` had better be no longer than a line may be: within one nothing is too long."""
    rest, is_within = b"", False
    try:
        for chunk in chunks:
            begins = chunk.find(b"\n") + 1 if is_within else 0
            if is_within and not begins:
                continue
            rest += chunk[begins:]
            is_within = False
            cut = rest.rfind(b"\n") + 1
            if cut:
                yield Block(rest[:cut])
                rest = rest[cut:]
            if len(rest) > LONGEST_LINE:
                yield Block(rest[:_SHOWN], f"longer than {LONGEST_LINE:,} bytes; this begins it")
                rest, is_within = b"", True
    except (zlib.error, EOFError) as damage:
        if rest:
            yield Block(rest, f"cut: {DAMAGED} here")
        yield Block(b"", f"{DAMAGED}, and what follows is lost: {damage}")
        return
    if rest:
        yield Block(rest)
