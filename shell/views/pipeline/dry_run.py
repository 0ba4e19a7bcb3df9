"""Prints the result of ``metalog pipeline build --dry-run``.

This module must not know how the result was computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from metalog.grouping import grouped
from metalog.text.plurals import counted, ranged
from metalog.text.visible_text import safe, shown
from shell.output.output import Cell, Output

if TYPE_CHECKING:
    from metalog_spark.dry_run import DryRun, FileLook


def show_dry_run(found: DryRun, out: str, zone: str, output: Output) -> bool:
    """``zone`` is of times without a zone. Returns whether each file begins with an audit line."""
    odd = [file for file in found.files if file.first is None]
    for file in odd:
        beginning = "no audit line at its beginning; leave out a file that is not an audit log"
        output.warn(f"{file.path}: {'empty' if not file.size else beginning}")
    if output.is_text:
        output.aligned(_rows(found, out))
        for hour in found.repeated:
            files = counted(len(hour.files), "file")
            output.note(
                f"{hour.clock} comes twice in {zone} (--zone): lines without a zone, in {files},"
                " can be from either hour, so the coverage leaves both hours out"
            )
        output.note("nothing was decided or written; numbers of lines are estimates")
        output.note(f"times are shown in UTC; lines without a zone are in {zone} (--zone)")
    else:
        output.record({**_json(found), "zone": zone})
    return not odd


def _rows(found: DryRun, out: str) -> Iterator[list[Cell | str]]:
    brokers = grouped(found.files, lambda file: file.broker)
    yield _row("files", len(found.files), _files_text(found.files))
    for broker, files in sorted(brokers.items()):
        yield _row(f"broker {shown(broker)}", len(files), _files_text(files))
    yield _row(
        "log", found.end - found.start, f"start offset {found.start:,}, end offset {found.end:,}"
    )
    for gap in found.gaps:
        yield _row("gap", 1, safe(f"from offset {gap.offset:,}: {gap.why}"))
    nothing = "nothing new" if any(file.is_known for file in found.files) else "no audit line found"
    days = ranged(found.days[0], found.days[-1]) if found.days else nothing
    if known_days := set(found.again).intersection(found.days):
        days += f"; in {shown(out)} already, and decided again: {counted(len(known_days), 'day')}"
    yield _row("days", len(found.days), days)
    if found.stale:
        why = "decided again, because the log or the configuration has changed"
        yield _row("stale", len(found.stale), f"{ranged(found.stale[0], found.stale[-1])}: {why}")


def _row(name: str, number: int, text: str) -> list[Cell | str]:
    return [Cell(name, "name"), f"{number:>13,}", text]


def _files_text(files: Sequence[FileLook]) -> str:
    size = sum(file.size for file in files)
    lines = sum(file.lines for file in files)
    packed = sum(file.is_packed for file in files)
    text = f"{size / 1e6:,.1f} MB, approximately {counted(lines, 'line')}"
    if packed:
        text += f", {counted(packed, 'file')} packed"
    if known_files := sum(file.is_known for file in files):
        text += f", {counted(known_files, 'file')} read before"
    first = min(_not_none(file.first for file in files), default=None)
    if first is None:
        return f"{text}; no audit line"
    last = max(_not_none(file.last for file in files), default=None)
    return f"{text}; {ranged(_stamp(first), '?' if last is None else _stamp(last))}"


def _not_none(times: Iterable[datetime | None]) -> Iterator[datetime]:
    return (time for time in times if time is not None)


def _stamp(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%MZ}"


def _json(found: DryRun) -> dict[str, object]:
    return {
        "files": [
            {
                "file": file.path,
                "broker": file.broker,
                "bytes": file.size,
                "packed": file.is_packed,
                "known": file.is_known,
                "lines": file.lines,
                "from": None if file.first is None else _stamp(file.first),
                "to": None if file.last is None else _stamp(file.last),
            }
            for file in found.files
        ],
        "log": {"from": found.start, "to": found.end},
        "gaps": [gap._asdict() for gap in found.gaps],
        "days": [day.isoformat() for day in found.days],
        "again": [day.isoformat() for day in found.again],
        "stale": [day.isoformat() for day in found.stale],
        "repeated": [hour._asdict() for hour in found.repeated],
    }
