"""Writes a report's findings as JSON, and compares them with an earlier report.

This module must not know Spark, nor how a page is made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog_spark.report.contents import CHANGES, Cell, Column, ColumnKind, Section
from metalog_spark.report.triage.identity import COMPARED, FindingWords, fields_in, is_finding

_KIND: Final = "kraft-metalog report"
_VERSION: Final = 1
_TITLES: Final = {
    "unused": "Grants and their use",
    "exposure": "Exposure",
    "denied": "Denied most",
    "drift": "Drift",
    "disagreements": "Disagreements",
}


class Findings(NamedTuple):
    """The findings by section; None if a section was not computed."""

    window: str
    sections: Mapping[str, Sequence[FindingWords] | None]


def findings_of(window: str, sections: Iterable[Section]) -> Findings:
    """The findings of ``sections``, which must still have all their rows."""
    return Findings(
        window,
        {
            section.id: [
                fields_in(section, row) for row in section.rows if is_finding(section, row)
            ]
            if section.columns
            else None
            for section in sections
            if section.id in COMPARED
        },
    )


def as_json(findings: Findings) -> str:
    document = {"kind": _KIND, "version": _VERSION, **findings._asdict()}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def read_findings(text: str, file: str) -> Findings:
    """The findings in the JSON of an earlier report.

    Raises:
        InvalidRequest: ``as_json`` did not write the text.
    """
    try:
        document = json.loads(text)
        if document["kind"] == _KIND and document["version"] == _VERSION:
            sections = {
                section: None
                if findings is None
                else [{str(key): str(value) for key, value in each.items()} for each in findings]
                for section, findings in document["sections"].items()
            }
            return Findings(str(document["window"]), sections)
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    raise InvalidRequest(
        f"{file}: not the findings of a report; metalog pipeline report writes them beside its page"
    )


def changes(before: Findings, now: Findings) -> Section:
    """The findings that are new or gone, in sections that both reports have."""
    rows: list[tuple[Cell, ...]] = []
    for section, title in _TITLES.items():
        old, new = before.sections.get(section), now.sections.get(section)
        if old is None or new is None:
            continue
        for change, one, other in (("new", new, old), ("gone", old, new)):
            known = {_key(finding) for finding in other}
            rows += [_row(change, title, finding) for finding in one if _key(finding) not in known]
    new_ones = sum(row[0] == "new" for row in rows)
    says = (
        f"Since the report of {before.window}: {counted(new_ones, 'new finding')},"
        f" {len(rows) - new_ones:,} gone."
        if rows
        else f"No finding is new or gone since the report of {before.window}."
    )
    columns = (
        Column("Change"),
        Column("Finding"),
        Column("Principal", ColumnKind.NAME),
        Column("What", ColumnKind.NAME),
    )
    return Section(CHANGES, "Since the last report", says, columns, rows, len(rows))


def _key(fields: FindingWords) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(fields.items()))


def _row(change: str, title: str, fields: FindingWords) -> tuple[Cell, ...]:
    words = (value for key, value in fields.items() if key != "principal")
    return change, title, fields.get("principal"), " ".join(words)
