"""Reads ``--accepted FILE``, the accepted findings, for the verbs that show findings.

``metalog pipeline report`` reads the same FILE. Accepted findings do not change the exit code.
This module must not know how findings are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from metalog.acl import Acl, words_of
from metalog.text.visible_text import shown
from shell.output.output import Output

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

    from metalog_sources.formats.document import FilePosition
    from metalog_spark.report.triage.accepted import Accepted
    from metalog_spark.report.triage.identity import FindingWords

T = TypeVar("T")


def add_accepted(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--accepted",
        metavar="FILE",
        help="YAML: findings that are accepted, each with a reason and a last day",
    )


class AcceptedFindings:
    """The file's entries for one ``section``."""

    def __init__(self, file: str | None, section: str) -> None:
        self.today = datetime.now(UTC).date()
        self.entries: Sequence[Accepted] = ()
        self._matched: set[FilePosition] = set()
        if file is not None:
            self.entries = [each for each in _read(Path(file)) if each.section == section]

    def split(
        self, findings: Iterable[T], words: Callable[[T], FindingWords]
    ) -> tuple[list[T], list[tuple[T, Accepted]]]:
        """The open findings, and the accepted ones, each with the matching entry that ends last."""
        open_findings, accepted = [], []
        for finding in findings:
            row = words(finding)
            matching = [entry for entry in self.entries if entry.covers(row)]
            self._matched.update(entry.position for entry in matching)
            last = max(matching, key=lambda entry: entry.until, default=None)
            if last is None or last.until < self.today:
                open_findings.append(finding)
            else:
                accepted.append((finding, last))
        return open_findings, accepted

    def note_matched(self, entries: Iterable[Accepted]) -> None:
        self._matched.update(entry.position for entry in entries)

    def entry(self, number: int | None) -> Accepted | None:
        return None if number is None else self.entries[number]

    def warn_of_unmatched_or_ended(self, output: Output) -> None:
        from metalog_spark.report.triage.accepted import ended_text, idle_text

        for entry in self.entries:
            if entry.position not in self._matched:
                output.warn(idle_text(entry))
            elif entry.until < self.today:
                output.warn(ended_text(entry))


def acl_words(acl: Acl) -> FindingWords:
    """The ACL as the report's table ``unused`` writes it."""
    from metalog_spark.findings.usage.acl_lifetimes import ACL_COLUMNS
    from metalog_spark.report.text.words import permission, resource

    row = dict(zip(ACL_COLUMNS, words_of(acl), strict=True))
    return {
        "principal": acl.principal,
        "acl": permission(row),
        "resource": resource(row),
        "name": acl.resource_name,
    }


def accepted_text(entry: Accepted) -> str:
    return shown(f"accepted until {entry.until}: {entry.reason}")


def accepted_json(entry: Accepted | None) -> dict[str, Any] | None:
    return None if entry is None else {"until": entry.until.isoformat(), "reason": entry.reason}


def _read(path: Path) -> Sequence[Accepted]:
    from metalog.errors import InvalidRequest
    from metalog_spark.report.triage.accepted import read_accepted

    try:
        return read_accepted(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path}: not UTF-8 at byte {error.start}") from None
