"""Reads the accepted findings in the file of ``--accepted``, and marks their rows.

An entry names a section, some of the fields that identify a finding, a ``reason``, and the last day
of the acceptance, ``until``. Accepted rows come last in their section. This module must not know
Spark, nor the current day.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog_sources.formats.document import FilePosition
from metalog_sources.formats.nodes.nodes import Node, fault, fields_of, items_of, near, text_of
from metalog_sources.formats.nodes.yaml_nodes import yaml_documents
from metalog_spark.report.contents import (
    SECTIONS,
    Cell,
    Column,
    Number,
    ReportContents,
    Section,
    can_go_text,
)
from metalog_spark.report.triage.identity import FIELDS, FindingWords, fields_in, is_finding

_SECTION: Final = "section"
_REASON: Final = "reason"
_UNTIL: Final = "until"
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_COLUMN: Final = Column("Accepted")


class Accepted(NamedTuple):
    """An entry accepts the rows of ``section`` that have all ``fields``."""

    position: FilePosition
    section: str
    fields: FindingWords
    reason: str
    until: date

    def covers(self, fields: FindingWords) -> bool:
        return self.fields.items() <= fields.items()


class Marked(NamedTuple):
    """A section with its accepted rows last. ``accepted`` counts accepted findings, ``idle`` has
    the entries that match no row."""

    section: Section
    accepted: int = 0
    idle: Sequence[Accepted] = ()


def read_accepted(text: str, file: str) -> tuple[Accepted, ...]:
    """The entries in the file's order.

    Raises:
        InvalidRequest: the file has a mistake. The message says where.
    """
    return tuple(
        _entry(item)
        for document in yaml_documents(text, file)
        for item in items_of(document, "a file of accepted findings")
    )


def _entry(node: Node) -> Accepted:
    words = fields_of(node, "an accepted finding", None)
    for key in (_SECTION, _REASON, _UNTIL):
        if key not in words:
            raise fault(node.position, f"an accepted finding has no {key}; add {key}")
    section = text_of(words[_SECTION], _SECTION)
    if section not in FIELDS:
        raise fault(
            words[_SECTION].position,
            f"{section} is not a section with findings; {near(section, FIELDS)}",
        )
    known = [_SECTION, _REASON, _UNTIL, *FIELDS[section]]
    fields_of(node, f"an accepted finding of {section}", known)
    fields = {key: text_of(words[key], key) for key in FIELDS[section] if key in words}
    if not fields:
        names = ", ".join(FIELDS[section])
        raise fault(node.position, f"this accepts all of {section}; add one or more of {names}")
    reason = text_of(words[_REASON], _REASON).strip()
    if not reason:
        raise fault(words[_REASON].position, "the reason is empty; say why the finding is accepted")
    return Accepted(node.position, section, fields, reason, _until(words[_UNTIL]))


def _until(node: Node) -> date:
    text = text_of(node, _UNTIL)
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise fault(node.position, f"until: {text} is not a day in the form 2026-12-31")


def marked(
    section: Section, entries: Iterable[Accepted], today: date, elsewhere: Collection[Accepted] = ()
) -> Marked:
    """The section with its accepted rows marked. Entries in ``elsewhere`` match a row of another
    page, so they are not idle."""
    # A section without columns could not be computed, so it does not show which entries are idle.
    own = [entry for entry in entries if entry.section == section.id]
    if not own or not section.columns:
        return Marked(section)
    used: set[FilePosition] = set()
    others = {entry.position for entry in elsewhere}
    accepted = findings = 0
    open_rows: list[tuple[Cell, ...]] = []
    accepted_rows: list[tuple[Cell, ...]] = []
    for row in section.rows:
        matching = [entry for entry in own if entry.covers(fields_in(section, row))]
        used.update(entry.position for entry in matching)
        last = max(matching, key=lambda entry: entry.until, default=None)
        is_accepted = last is not None and last.until >= today
        finding = is_finding(section, row)
        findings += finding
        accepted += is_accepted and finding
        shown = last if is_accepted or finding else None
        (accepted_rows if is_accepted else open_rows).append((*row, _cell(shown, today)))
    says = [_subtracted(accepted, section.says, findings), *_says(len(accepted_rows), open_rows)]
    unmatched = [entry for entry in own if entry.position not in used | others]
    if unmatched:
        places = ", ".join(str(entry.position) for entry in unmatched)
        says.append(f"Accepted findings that match no row: {places}.")
    columns = (*section.columns, _COLUMN)
    made = section._replace(says=" ".join(says), columns=columns, rows=[*open_rows, *accepted_rows])
    return Marked(made, accepted, unmatched)


def _cell(entry: Accepted | None, today: date) -> Cell:
    if entry is None:
        return None
    return f"{'until' if entry.until >= today else 'ended on'} {entry.until}: {entry.reason}"


def _says(accepted: int, open_rows: Sequence[tuple[Cell, ...]]) -> Iterable[str]:
    ended = sum(row[-1] is not None for row in open_rows)
    if accepted:
        stand = "is accepted and comes last" if accepted == 1 else "are accepted and come last"
        yield f"{counted(accepted, 'row')} {stand}."
    if ended:
        yield f"The acceptance of {counted(ended, 'row')} has ended."


def with_accepted(
    contents: ReportContents,
    entries: Sequence[Accepted],
    today: date,
    elsewhere: Collection[Accepted] = (),
) -> tuple[ReportContents, list[Accepted]]:
    """``contents`` with the accepted findings marked, and the idle entries. Accepted findings do
    not count as grants that can go, nor as dangers. ``elsewhere`` is as in ``marked``."""
    marked_sections = {
        section.id: marked(section, entries, today, elsewhere) for section in contents.sections
    }
    one, *others = (_without_accepted(number, marked_sections) for number in contents.numbers)
    second, third, fourth = others
    sections = tuple(each.section for each in marked_sections.values())
    idle = [entry for each in marked_sections.values() for entry in each.idle]
    can_go = contents.numbers[1]
    return contents._replace(
        sentence=_subtracted(
            _accepted_of(can_go, marked_sections), contents.sentence, can_go.value or 0
        ),
        sections=sections,
        numbers=(one, second, third, fourth),
    ), idle


def _subtracted(accepted: int, text: str, can_go: int) -> str:
    """Subtract the accepted grants from the number ``can_go`` in ``text``."""
    return text.replace(can_go_text(can_go), can_go_text(can_go - accepted, accepted))


def _accepted_of(number: Number, marked_sections: dict[str, Marked]) -> int:
    return marked_sections[number.link].accepted if number.link in ("unused", "exposure") else 0


def _without_accepted(number: Number, marked_sections: dict[str, Marked]) -> Number:
    accepted = _accepted_of(number, marked_sections)
    if number.value is None or not accepted:
        return number
    return number._replace(
        value=number.value - accepted, says=f"{number.says}; {accepted:,} more accepted"
    )


def idle_text(entry: Accepted) -> str:
    return f"{entry.position}: no finding of {entry.section} matches; remove or correct the entry"


def ended_text(entry: Accepted) -> str:
    return (
        f"{entry.position}: this acceptance ended on {entry.until}, so its findings count again;"
        " give it a later day, or remove it"
    )


def check_is_section_of_findings(section: str) -> None:
    """Raise ``InvalidRequest`` if a section has no findings to accept."""
    if section not in FIELDS:
        known = ", ".join(each for each in SECTIONS if each in FIELDS)
        raise InvalidRequest(
            f"--accepted: {section} has no findings to accept; sections with findings: {known}"
        )
