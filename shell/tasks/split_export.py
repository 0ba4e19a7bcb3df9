"""Writes a file for each principal: ``metalog export --split principal``.

This module must not know how a format is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from metalog.disk.files import LOCAL_FILES, write_out
from metalog.grouping import grouped
from metalog.principal import parse_principal
from metalog_sources.formats.document import Document, in_order

_LONGEST_NAME: Final = 200
"""File systems accept names of 255 bytes, and a temporary file's name is longer."""


def write_split(
    document: Document, folder: Path, suffix: str, write: Callable[[Document], bytes]
) -> list[Path]:
    """Write a file below ``folder`` for each principal; returns the other files with ``suffix``."""
    written = set()
    for principal, part in _by_principal(document):
        path = folder / f"{_file_of(principal)}{suffix}"
        LOCAL_FILES.make_folder(path.parent)
        write_out(path, write(part))
        written.add(path)
    return sorted(path for path in folder.rglob(f"*{suffix}") if path not in written)


def _by_principal(document: Document) -> Iterator[tuple[str, Document]]:
    """The SCRAM user ``NAME`` belongs to ``User:NAME``. ``owns`` is left out."""
    users = grouped(document.users, lambda user: f"User:{user.user}")
    entries = grouped(in_order(document.entries), lambda entry: entry.acl.principal)
    for principal in sorted({**entries, **users}):
        of_principal = tuple(users.get(principal, ()))
        yield principal, Document(tuple(entries.get(principal, ())), users=of_principal)


def _file_of(principal: str) -> str:
    """``User/alice``: a path that cannot leave the folder, different for each name."""
    return "/".join(map(_file_name, parse_principal(principal)))


def _file_name(text: str) -> str:
    """A long name ends with a digest: ``%-`` occurs in no other name."""
    escaped = quote(text, safe="=@,+ ")
    if len(escaped) > _LONGEST_NAME:
        digest = sha256(escaped.encode()).hexdigest()
        escaped = f"{escaped[: _LONGEST_NAME - len(digest)]}%-{digest}"
    first = escaped[:1] or "%"
    return (f"%{ord(first):02X}" if first in ". " else first) + escaped[1:]
