"""What `make mutate` found, as a file, and as tables of its page.

``reasons.json`` holds a reason for each change that no test can or need notice; people write it.
This module must not know how changes are made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.kafka.cases import REPOSITORY

RESULTS = REPOSITORY / "docs" / "assurance" / "mutants.json"
REASONS = REPOSITORY / "docs" / "assurance" / "mutants-reasons.json"
PAGE = REPOSITORY / "docs" / "reference" / "mutation-testing.md"
_BEGIN, _END = "<!--results-->\n", "<!--end of results-->"


class Survivor(NamedTuple):
    """A change that no test noticed: a line of ``function`` as it ``was`` and as it ``became``."""

    function: str
    was: str
    became: str


class Outcome(NamedTuple):
    """``code`` is a sum over the modules; ``commit`` is what was checked out."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    total: int
    killed: int
    untried: int
    date: str
    commit: str
    code: str
    survivors: tuple[Survivor, ...]


def read(file: Path = RESULTS) -> dict[str, Outcome]:
    if not file.exists():
        return {}
    return {name: _outcome(kept) for name, kept in json.loads(file.read_text()).items()}


def _outcome(kept: dict[str, Any]) -> Outcome:
    survivors = tuple(Survivor(**each) for each in kept.pop("survivors"))
    lists = {key: tuple(kept.pop(key)) for key in ("modules", "tests")}
    return Outcome(**lists, **kept, survivors=survivors)


def write(found: Mapping[str, Outcome], file: Path = RESULTS) -> None:
    kept = {
        name: {**each._asdict(), "survivors": [one._asdict() for one in each.survivors]}
        for name, each in sorted(found.items())
    }
    unfinished = file.with_suffix(".part")
    unfinished.write_text(json.dumps(kept, indent=1) + "\n")
    unfinished.replace(file)


def reasons(file: Path = REASONS) -> dict[Survivor, str]:
    """Why a survivor need not be noticed, by its change."""
    kept = json.loads(file.read_text()) if file.exists() else {}
    return {
        Survivor(function, each["was"], each["became"]): each["reason"]
        for function, changes in kept.items()
        for each in changes
    }


def rendered(page: str, found: Mapping[str, Outcome], groups: Iterable[str]) -> str:
    """``page`` with the tables of ``found`` between its marks, and which ``groups`` lack one."""
    known = reasons()
    head = (
        "| group | changes | noticed | | left | not run | last run | commit | sum of the code |\n"
    )
    rows = [
        f"| [*{name}*](#{name}) | {each.total:,} | {each.killed:,} "
        f"| {100 * each.killed / max(1, each.total - each.untried):.1f}% | {len(each.survivors):,} "
        f"| {each.untried:,} | {each.date} | {each.commit} | {each.code} |\n"
        for name, each in sorted(found.items())
    ]
    table = head + "|---|---|---|---|---|---|---|---|---|\n" + "".join(rows)
    missing = [name for name in groups if name not in found]
    if missing:
        table += f"\nNot run yet: {', '.join(missing)}. This page has no results for them.\n"
    parts = [_left(name, each, known) for name, each in sorted(found.items())]
    between = re.compile(re.escape(_BEGIN) + ".*?" + re.escape(_END), re.DOTALL)
    text = _BEGIN + "\n" + table + "\n" + "\n".join(parts) + "\n" + _END
    return between.sub(lambda _: text, page)


def _left(name: str, outcome: Outcome, known: Mapping[Survivor, str]) -> str:
    modules = ", ".join(f"`{module}.py`" for module in outcome.modules)
    said = f"## {name}\n\nOf {modules}.\n"
    if not outcome.survivors:
        return said
    head = "\n| function | was | became | why it is left |\n|---|---|---|---|\n"
    rows = [
        f"| `{each.function.rpartition('.')[2]}` | {_code(each.was)} | {_code(each.became)} "
        f"| {known.get(each, 'not looked at yet')} |\n"
        for each in outcome.survivors
    ]
    return said + head + "".join(rows)


def _code(text: str) -> str:
    return "`` " + text.replace("|", "\\|").replace("\n", " ") + " ``" if text else "nothing"
