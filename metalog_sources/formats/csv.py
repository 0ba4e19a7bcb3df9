"""ACLs as kafka-security-manager's CSV.

Its header is ``KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,
Host``; columns are taken in any order, and without PatternType (its older files) all are
LITERAL. Notes, owns and users have no place in it. This module must not know files.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Final

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType, camel
from metalog.plurals import counted
from metalog_sources.formats.document import AclEntry, Document, FilePosition, in_order
from metalog_sources.formats.nodes import fault, near
from metalog_sources.formats.rules import checked
from metalog_sources.formats.words import read_word

COLUMNS: Final = (
    "KafkaPrincipal",
    "ResourceType",
    "PatternType",
    "ResourceName",
    "Operation",
    "PermissionType",
    "Host",
)
_TO_QUOTE: Final = re.compile(r'[",\r\n]|^\s|\s$')
_OPTIONAL: Final = "PatternType"


def read_csv(text: str, file: str) -> Document:
    rows = _rows(text, file)
    place, header = next(rows, (FilePosition(file, 1), []))
    for column in header:
        if column not in COLUMNS:
            raise fault(place, f"unknown column {column!r}; {near(column, COLUMNS)}")
    missing = [each for each in COLUMNS if each not in header and each != _OPTIONAL]
    if missing or len(set(header)) < len(header):
        said = f"no column {missing[0]}" if missing else "a column stands twice"
        raise fault(place, f"{said}; the first line is {','.join(COLUMNS)}")
    return Document(tuple(_entry(header, row, place) for place, row in rows))


def _rows(text: str, file: str) -> Iterator[tuple[FilePosition, list[str]]]:
    """Rows that are not empty, each with the line that it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise fault(FilePosition(file, line), f"no CSV: {error}") from None
        if row:
            yield FilePosition(file, line), row
        line = reader.line_num + 1


def _entry(header: list[str], row: list[str], place: FilePosition) -> AclEntry:
    if len(row) != len(header):
        raise fault(place, f"{counted(len(row), 'value')} for {counted(len(header), 'column')}")
    cells = dict(zip(header, row, strict=True))
    acl = Acl(
        read_word(ResourceType, cells["ResourceType"], "ResourceType", place),
        cells["ResourceName"],
        read_word(PatternType, cells.get(_OPTIONAL, "LITERAL"), _OPTIONAL, place),
        cells["KafkaPrincipal"],
        cells["Host"],
        read_word(Operation, cells["Operation"], "Operation", place),
        read_word(PermissionType, cells["PermissionType"], "PermissionType", place),
    )
    return checked(AclEntry(acl, place=place))


def write_csv(document: Document) -> str:
    rows = [
        (
            acl.principal,
            camel(acl.resource_type),
            acl.pattern_type.name,
            acl.resource_name,
            camel(acl.operation),
            camel(acl.permission_type),
            acl.host,
        )
        for acl, _, _ in in_order(document.entries)
    ]
    return "".join(",".join(map(_cell, row)) + "\n" for row in (COLUMNS, *rows))


def _cell(text: str) -> str:
    """Quoted where it must be; Python's own writer leaves a lone CR bare."""
    if _TO_QUOTE.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text
