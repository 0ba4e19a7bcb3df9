"""ACLs as kafka-security-manager's CSV.

The header names the ``COLUMNS``. The reader accepts any order. Without PatternType (in older files)
all patterns are LITERAL. The writer escapes a name that could control a spreadsheet or a terminal;
the reader restores the name. The format cannot hold a ``Document``'s notes,
``owns`` and users. This module must
not know files.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType, camel
from metalog.records.primitives.text import MAX_BYTES
from metalog.text.plurals import counted
from metalog_sources.certainty import MARK
from metalog_sources.formats.csv_cells import csv_row, csv_text, needs_escape
from metalog_sources.formats.document import AclEntry, Document, FilePosition, in_order
from metalog_sources.formats.nodes.nodes import fault, near
from metalog_sources.formats.nodes.rules import checked
from metalog_sources.formats.nodes.words import read_word

COLUMNS: Final = (
    "KafkaPrincipal",
    "ResourceType",
    "PatternType",
    "ResourceName",
    "Operation",
    "PermissionType",
    "Host",
)
_OPTIONAL: Final = "PatternType"
_LONGEST_CELL: Final = 1 + 6 * MAX_BYTES
"""For the longest name that a record can hold, with each character escaped (``\\u0000``)."""


def read_csv(text: str, file: str) -> Document:
    lines = _Lines(text)
    rows = _rows(lines, file)
    position, header = next(rows, (FilePosition(file, 1), []))
    for column in header:
        if column not in COLUMNS:
            raise fault(position, f"unknown column {column!r}; {near(column, COLUMNS)}")
    missing = [column for column in COLUMNS if column not in header and column != _OPTIONAL]
    if missing or len(set(header)) < len(header):
        problem = f"no column {missing[0]}" if missing else "a column is repeated"
        raise fault(position, f"{problem}; write the first line as {','.join(COLUMNS)}")
    entries = tuple(_entry(header, row, position) for position, row in rows)
    return Document(entries, missing=tuple(lines.marks))


class _Lines:
    """The lines of a file, with an empty line instead of each line that begins with ``MARK``.

    A quoted name can contain line breaks, so only the first line of a row can begin with ``MARK``.
    """

    def __init__(self, text: str) -> None:
        self.marks: list[str] = []
        self.begins_row = True
        self._lines = io.StringIO(text, newline="")

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            is_mark = self.begins_row and line.startswith(MARK)
            self.begins_row = False
            if is_mark:
                self.marks.append(line.removeprefix(MARK).rstrip("\r\n"))
            yield "\n" if is_mark else line


def _rows(lines: _Lines, file: str) -> Iterator[tuple[FilePosition, list[str]]]:
    csv.field_size_limit(max(_LONGEST_CELL, csv.field_size_limit()))  # of the whole process
    reader = csv.reader(lines, strict=True)
    line = 1
    while True:
        lines.begins_row = True
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise fault(FilePosition(file, line), f"not CSV: {error}") from None
        if row:
            yield FilePosition(file, line), row
        line = reader.line_num + 1


def _entry(header: list[str], row: list[str], position: FilePosition) -> AclEntry:
    if len(row) != len(header):
        raise fault(position, f"{counted(len(row), 'value')} for {counted(len(header), 'column')}")
    cells = dict(zip(header, map(csv_text, row), strict=True))
    acl = Acl(
        read_word(ResourceType, cells["ResourceType"], "ResourceType", position),
        cells["ResourceName"],
        read_word(PatternType, cells.get(_OPTIONAL, "LITERAL"), _OPTIONAL, position),
        cells["KafkaPrincipal"],
        cells["Host"],
        read_word(Operation, cells["Operation"], "Operation", position),
        read_word(PermissionType, cells["PermissionType"], "PermissionType", position),
    )
    return checked(AclEntry(acl, position=position))


def write_csv(document: Document) -> str:
    """The text of a file. kafka-security-manager misreads escaped names (``escaped_acls``)."""
    acls = (acl for acl, _, _ in in_order(document.entries))
    return "".join(map(csv_row, (COLUMNS, *map(_cells, acls))))


def escaped_acls(document: Document) -> list[Acl]:
    """The ACLs with a name that ``write_csv`` escapes."""
    return [acl for acl in document.acls if any(map(needs_escape, _cells(acl)))]


def _cells(acl: Acl) -> tuple[str, ...]:
    return (
        acl.principal,
        camel(acl.resource_type),
        acl.pattern_type.name,
        acl.resource_name,
        camel(acl.operation),
        camel(acl.permission_type),
        acl.host,
    )
