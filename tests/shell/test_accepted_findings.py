"""``--accepted``: which entries a person has to look at again."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

from shell.output.output import Output
from shell.views.accepted_findings import AcceptedFindings


def test_an_entry_is_named_if_it_matches_nothing_or_has_ended(tmp_path: Path) -> None:
    """On its last day an entry still holds."""
    today = datetime.now(UTC).date()
    days = [today - timedelta(1), today, today - timedelta(1)]
    names = ["User:a", "User:b", "User:gone"]
    file = tmp_path / "accepted.yaml"
    file.write_text(
        "".join(
            f"- {{section: unused, principal: {name}, reason: r, until: {day}}}\n"
            for name, day in zip(names, days, strict=True)
        )
    )
    known = AcceptedFindings(str(file), "unused")
    left, accepted = known.split(["User:a", "User:b"], lambda name: {"principal": name})
    assert (left, [name for name, _ in accepted]) == (["User:a"], ["User:b"])
    warned = io.StringIO()
    known.warn_of_unmatched_or_ended(Output(io.StringIO(), warned))
    first, second = warned.getvalue().splitlines()
    assert f"line 1, column 3: this acceptance ended on {days[0]}" in first
    assert "line 3, column 3: no finding of unused matches" in second
