"""Collects what an export leaves out, over all its files, and prints it in one line.

This module must not know formats.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from metalog.text.plurals import counted
from metalog.text.visible_text import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metalog.acl import Acl
    from shell.output.output import Output

_NAMED: Final = 3


class ExportOmissions:
    """Call ``say`` after everything is written."""

    def __init__(self) -> None:
        self._acls: dict[str, Counter[str]] = {}
        self._users: dict[str, Counter[str]] = {}
        self._parts: dict[str, None] = {}
        self._advice: dict[str, None] = {}

    def acls(self, found: Iterable[tuple[Acl, str]]) -> None:
        """Add ACLs, each with the reason."""
        for acl, why in found:
            self._acls.setdefault(why, Counter())[acl.principal] += 1

    def users(self, found: Iterable[tuple[str, str]]) -> None:
        for user, why in found:
            self._users.setdefault(why, Counter())[user] += 1

    def part(self, what: str) -> None:
        """Add a part of the source that the format cannot contain."""
        self._parts[what] = None

    def advise(self, text: str) -> None:
        self._advice[text] = None

    def say(self, output: Output) -> None:
        """Print a warning if ACLs or users are missing, else a note."""
        lacking = [
            f"{counted(names.total(), what)} ({_some(names)}): {why}"
            for what, names_by_reason in (("ACL", self._acls), ("SCRAM user", self._users))
            for why, names in names_by_reason.items()
        ]
        parts = [f"{', '.join(self._parts)}: {output.format} cannot contain them"]
        left_out = [*lacking, *(parts if self._parts else ())]
        if left_out:
            (output.warn if lacking else output.note)(f"left out: {'; '.join(left_out)}")
        for advice in self._advice:
            output.note(advice)


def _some(names: Counter[str]) -> str:
    ordered = sorted(names)
    text = ", ".join(map(shown, ordered[:_NAMED]))
    more = len(ordered) - _NAMED
    return text if more <= 0 else f"{text} and {more:,} more"
