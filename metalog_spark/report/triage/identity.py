"""The fields that identify a finding. Two rows with equal fields are the same finding.

This module must not know where rows come from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from metalog_spark.report.contents import Cell, Section

FindingWords = dict[str, str]
"""A finding's identifying fields, by key."""
_KIND: Final = re.compile(r"\(([^()]*)\)$")
_BEFORE_HOSTS: Final = " from "


def _kind(text: str) -> str:
    """``everyone`` from ``every principal may do it (everyone)``."""
    match = _KIND.search(text)
    return text if match is None else match[1]


def _operation(text: str) -> str:
    """``READ`` from ``READ from 10.0.0.1``, because the hosts change from day to day."""
    return text.partition(_BEFORE_HOSTS)[0]


_Read = tuple[str, Callable[[str], str]]
_PRINCIPAL: Final[Mapping[str, _Read]] = {"principal": ("Principal", str)}
_RESOURCE: Final[Mapping[str, _Read]] = {"resource": ("Resource", str), "name": ("Name", str)}
_ACL: Final[Mapping[str, _Read]] = {**_PRINCIPAL, "acl": ("ACL", str), **_RESOURCE}

FIELDS: Final[Mapping[str, Mapping[str, _Read]]] = {
    "unused": _ACL,
    "exposure": {**_PRINCIPAL, "kind": ("What", _kind), "by": ("By", str)},
    "denied": {**_PRINCIPAL, "operation": ("Wanted", _operation), **_RESOURCE},
    "least": _PRINCIPAL,
    "what-if": {**_PRINCIPAL, "operation": ("Operation", str), **_RESOURCE},
    "drift": {"change": ("Change", str), **_ACL},
    "disagreements": {
        "broker": ("Broker", str),
        **_PRINCIPAL,
        "host": ("From host", str),
        "operation": ("Operation", str),
        **_RESOURCE,
    },
}
"""The identifying fields of each section: the title of the column, and a function that returns the
identifying part of a cell. ``what-if`` is not a section of a report: ``metalog pipeline what-if``
prints its rows."""

COMPARED: Final = FIELDS.keys() - {"least", "what-if"}
"""The sections for which a report shows the changes since the last report."""


def fields_in(section: Section, row: tuple[Cell, ...]) -> FindingWords:
    """The identifying fields of a row that are not empty. ``section`` must be in ``FIELDS``."""
    titles = [column.title for column in section.columns]
    identity = {}
    for key, (title, read) in FIELDS[section.id].items():
        cell = row[titles.index(title)]
        if isinstance(cell, str) and cell:
            identity[key] = read(cell)
    return identity


def is_finding(section: Section, row: tuple[Cell, ...]) -> bool:
    """Whether a row needs attention. ``unused``: an ACL that can go. ``exposure``, ``denied`` and
    ``least``: a warning or an error. Other sections: every row."""
    titles = [column.title for column in section.columns]
    if section.id == "unused":
        return str(row[titles.index("Use")]).endswith("can go")
    is_graded = section.id in ("exposure", "denied", "least")
    return not is_graded or row[titles.index("Severity")] in ("ERROR", "WARNING")
