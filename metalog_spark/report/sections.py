"""The tables of a report under its charts, one function each. Pure; see ``data``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from metalog.text.plurals import counted
from metalog_spark.report.contents import Cell, Column, ColumnKind, Section
from metalog_spark.report.text.row_requests import REQUESTS_COLUMN, row_requests
from metalog_spark.report.text.words import between, grant, hosts_text, moment, offsets, resource

if TYPE_CHECKING:
    from metalog_spark.report.gather import Parts
    from metalog_spark.report.rows import Row, Rows

SEVERITIES: Final = ("ERROR", "WARNING", "INFO")
_SIGHTS: Final = {
    "USED": "used",
    "SHADOWED": "shadowed",
    "ONLY_DENIED": "matched only denied requests",
    "NEVER": "not matched in the window",
}
_REASONS: Final = {
    "YOUNGER": "younger than the window, or of unknown age",
    "GAP": "its requests fall into a gap of the log",
    "AMBIGUOUS": "ambiguous lines, or half lines, may be its uses",
    "WAITS": "requests that wait, or are not counted yet, may be its uses",
    "DISAGREES": "brokers decided differently",
    "WAS_SUPER": "its user was a super user then",
    "SHADOW_GONE": "the ACL that decided instead is gone",
    "COVERAGE": "allowed lines are missing",
    "CONTROLLER": "hours without a controller's log",
    "UNLOGGED": "an idempotent producer may need it, which no line shows",
    "OPENS": "without it the name is open to all",
}
_SEVERITY: Final = Column("Severity", ColumnKind.SEVERITY)
_PRINCIPAL: Final = Column("Principal", ColumnKind.NAME)
_NAME: Final = Column("Name", ColumnKind.NAME)
_RESOURCE: Final = (Column("Resource"), _NAME)
_REMEDY: Final = Column("Remedy", ColumnKind.LINES)
_AMBIGUOUS: Final = "a name in it may imitate the rest of the line"


def unused(result: Rows, acls: Sequence[Row], later: int, end: str) -> Section:
    """Of ``acls``, in force in the window and at the log's ``end``; ``later`` came between."""
    title = "Grants and their use"
    if result.refused:
        return Section("unused", title, f"Nothing is called unused: {result.refused}.", ())
    rows = sorted(acls, key=_by_use)
    grants = sum(row["permission_type"] == "ALLOW" for row in rows)
    can_go = sum(row["can_go"] for row in rows)
    unknown = sum(row["state"] == "UNKNOWN" for row in rows)
    says = (
        f"Of {counted(len(rows), 'ACL')} ({counted(grants, 'grant')}, "
        f"{counted(len(rows) - grants, 'DENY', 'DENYs')}) in force in this window and still at "
        f"{end}, {can_go:,} can go: without all of them every answer of this window stays the "
        "same. "
        f"Of {unknown:,} more the use is unknown; each row says why."
    )
    if later:
        says += f" {later:,} more came after this window and are not judged."
    columns = (
        _SEVERITY,
        _PRINCIPAL,
        Column("ACL"),
        *_RESOURCE,
        Column("Use"),
        Column("Requests", ColumnKind.NUMBER),
        Column("Last used", ColumnKind.MOMENT),
        _REMEDY,
        REQUESTS_COLUMN,
    )
    return Section("unused", title, says, columns, list(map(_use, rows)), len(rows))


def _by_use(row: Row) -> tuple[bool, int, bool, int, str, str]:
    """The order: ACLs that can go, the most severe first; then those with an unknown use; then by
    last use."""
    return (
        not row["can_go"],
        SEVERITIES.index(row["severity"]),
        row["state"] != "UNKNOWN",
        row["last_use"] or 0,
        row["principal"],
        row["resource_name"],
    )


def _use(row: Row) -> tuple[Cell, ...]:
    use = _SIGHTS[row["sight"]]
    if row["state"] == "UNKNOWN":
        use = f"unknown: {_REASONS[row['reason']]}"
    elif row["can_go"]:
        use = f"{use}, can go"
    shadow = row["shadow"]
    if shadow and row["sight"] == "SHADOWED" and row["state"] == "UNUSED":
        use += f" (by {grant(shadow)} on {resource(shadow)} {shadow['resource_name']})"
    return (
        row["severity"],
        row["principal"],
        grant(row),
        resource(row),
        row["resource_name"],
        use,
        row["requests"],
        _moment(row["last_use"]),
        _remedy(row),
        row_requests(row),
    )


def least(result: Rows, rows: Sequence[Row], end: str) -> Section:
    title = "Least privilege"
    if result.refused:
        return Section("least", title, f"No smaller set is proposed: {result.refused}.", ())
    today, needed = (sum(row[name] for row in rows) for name in ("acls_today", "acls_least"))
    says = (
        f"{counted(needed, 'grant')} instead of the {today:,} in force at {end} would allow every "
        "allowed request of this window, as a replay has shown, and nothing that is not allowed "
        "today. Grants that came after this window stay. "
        "Granted, used and left count pairs of an operation and a known name."
    )
    columns = (
        _SEVERITY,
        _PRINCIPAL,
        Column("Granted", ColumnKind.NUMBER),
        Column("Used", ColumnKind.NUMBER),
        Column("Left", ColumnKind.NUMBER),
        Column("ACLs", ColumnKind.NUMBER),
        Column("Needed", ColumnKind.NUMBER),
        Column("Requests", ColumnKind.NUMBER),
        _REMEDY,
        REQUESTS_COLUMN,
    )
    cells = [
        (
            row["severity"],
            row["principal"],
            row["granted"],
            row["used"],
            row["left"],
            row["acls_today"],
            row["acls_least"],
            row["requests"],
            _remedy(row),
            row_requests(row),
        )
        for row in rows
    ]
    return Section("least", title, says, columns, cells, len(cells))


def access(rows: Sequence[Row], end: str) -> Section:
    """The matrix again, as text."""
    columns = (
        _SEVERITY,
        _PRINCIPAL,
        *_RESOURCE,
        Column("May"),
        Column("Operations"),
        Column("Denied by a DENY"),
        Column("From host"),
        Column("Requests", ColumnKind.NUMBER),
        Column("Last used in the window", ColumnKind.MOMENT),
    )
    cells = [
        (
            row["severity"],
            row["principal"],
            resource(row),
            row["resource_name"],
            ", ".join(word for word in ("reads", "writes", "administers") if row[word]),
            ", ".join(row["operations"]),
            ", ".join(row["denied"]),
            ", ".join("any" if host == "*" else host for host in row["hosts"]),
            row["requests"],
            _moment(row["last_use"]),
        )
        for row in sorted(rows, key=lambda row: SEVERITIES.index(row["severity"]))
    ]
    says = (
        f"Who may read, write or administer what, by the ACLs in force at {end}; the "
        "column Denied by a DENY lists what a DENY takes away. Requests are those of the window."
    )
    return Section("may", "Who may what", says, columns, cells, len(cells))


def exposure(rows: Sequence[Row], end: str) -> Section:
    errors, warnings = (
        sum(row["severity"] == severity for row in rows) for severity in ("ERROR", "WARNING")
    )
    says = (
        f"{counted(errors, 'error')}, {counted(warnings, 'warning')}: ACLs in force at {end} "
        "that allow too much or something unexpected, and super users active in the window."
        if rows
        else "No ACL is dangerous by the checks of lint or by this traffic."
    )
    columns = (
        _SEVERITY,
        _PRINCIPAL,
        Column("What"),
        Column("By", ColumnKind.ACLS),
        Column("Requests", ColumnKind.NUMBER),
        Column("Last used in the window", ColumnKind.MOMENT),
        _REMEDY,
        REQUESTS_COLUMN,
    )
    cells = [
        (
            row["severity"],
            row["principal"],
            f"{row['said']} ({row['kind']})",
            _acls(row["acl"], row["other"]),
            row["requests"],
            _moment(row["last_use"]),
            _remedy(row),
            row_requests(row),
        )
        for row in rows
    ]
    return Section("exposure", "Exposure", says, columns, cells, len(cells))


def denied(result: Rows) -> Section:
    rows = result.rows
    storms = sum(row["storm"] for row in rows)
    says = (
        f"The {counted(len(rows), 'question that was', 'questions that were')} denied most (a"
        " principal, an operation and a "
        f"resource), {counted(storms, 'storm')} among them, and the ACL that came nearest to "
        "allowing them then."
        if rows
        else "Nothing was denied."
    )
    columns = (
        _SEVERITY,
        _PRINCIPAL,
        Column("Wanted"),
        *_RESOURCE,
        Column("Denied", ColumnKind.NUMBER),
        Column("Most in a day", ColumnKind.NUMBER),
        Column("First", ColumnKind.MOMENT),
        Column("Last", ColumnKind.MOMENT),
        Column("Nearly allowed by", ColumnKind.ACLS),
        _REMEDY,
        REQUESTS_COLUMN,
    )
    cells = [
        (
            row["severity"],
            row["principal"],
            f"{row['operation']} from {hosts_text(row)}{'' if row['still'] else ', allowed since'}",
            row["resource_type"],
            row["resource_name"],
            row["requests"],
            row["peak"],
            moment(row["first_time"]),
            moment(row["last_time"]),
            _acls(row["near"]),
            _remedy(row),
            row_requests(row),
        )
        for row in rows
    ]
    return Section("denied", "Denied most", says, columns, cells, result.found)


def drift(rows: Sequence[Row], since: str, end: str) -> Section:
    says = (
        f"{counted(len(rows), 'ACL')} came or went {since}, up to {end}; each remedy undoes one."
        if rows
        else f"No ACL came or went {since}, up to {end}."
    )
    columns = (_SEVERITY, Column("Change"), _PRINCIPAL, Column("ACL"), *_RESOURCE, _REMEDY)
    cells = [
        (
            row["severity"],
            row["change"].lower(),
            row["principal"],
            grant(row),
            resource(row),
            row["resource_name"],
            _remedy(row),
        )
        for row in rows
    ]
    return Section("drift", "Drift", says, columns, cells, len(cells))


def _acls(*rows: Row | None) -> str | None:
    """Each ACL once; None without any."""
    texts = (
        f"{row['principal']}: {grant(row)} on {resource(row)} {row['resource_name']}"
        for row in rows
        if row
    )
    return "; ".join(dict.fromkeys(texts)) or None


def _moment(us: int | None) -> datetime | None:
    return None if us is None else moment(us)


def disagreements(result: Rows) -> Section:
    says = (
        "Every answer that a broker logged is the one that the ACLs of its time give."
        if not result.found
        else f"{counted(result.requests, 'answer')} of brokers contradict the ACLs of their time. "
        "Causes are a wrong clock, a gap in the log, another authorizer or another configuration."
    )
    columns = (
        Column("Broker"),
        _PRINCIPAL,
        Column("From host"),
        Column("Operation"),
        *_RESOURCE,
        Column("Broker's answer"),
        Column("ACLs' answer"),
        Column("Requests", ColumnKind.NUMBER),
        Column("First", ColumnKind.MOMENT),
        Column("Last", ColumnKind.MOMENT),
        REQUESTS_COLUMN,
    )
    cells = [
        (
            row["broker"],
            row["principal"],
            row["host"],
            row["operation"],
            row["resource_type"],
            row["resource_name"],
            row["result"],
            row["decided"],
            row["requests"],
            moment(row["first"]),
            moment(row["last"]),
            row_requests(row),
        )
        for row in result.rows
    ]
    return Section("disagreements", "Disagreements", says, columns, cells, result.found)


def unseen(parts: Parts) -> Section:
    """Missing and damaged ranges of the log, and rejected or ambiguous lines."""
    ranges = [row for row in parts.history if row["kind"] != "KNOWN"]
    cells: list[tuple[Cell, ...]] = [
        (
            "damaged and skipped" if row["kind"] == "DAMAGED" else "gap in the metadata log",
            row["source"],
            offsets(row),
            None,
            f"{row['why'] or 'not in the archive'}; {between(row)}",
        )
        for row in ranges
    ]
    cells += [
        (
            "rejected lines",
            row["first"]["file"],
            _line(row["first"]["line"]),
            row["lines"],
            row["reason"],
        )
        for row in parts.rejected
    ]
    cells += [
        ("ambiguous lines", row["file"], _line(row["first"]), row["lines"], _AMBIGUOUS)
        for row in parts.ambiguous
    ]
    columns = (
        Column("What"),
        Column("Where", ColumnKind.NAME),
        Column("From"),
        Column("Lines", ColumnKind.NUMBER),
        Column("Why", ColumnKind.NAME),
    )
    says = (
        "Changes in a gap are unknown, and each finding that depends on them says so. A line that "
        "does not parse is counted and kept."
        if cells
        else "The metadata log has no gap, and every line of the audit logs was read."
    )
    return Section("unseen", "What could not be read", says, columns, cells, len(cells))


def _line(number: int) -> str:
    return f"line {number:,}"


def lines(remedy: str | None) -> tuple[str, ...]:
    return tuple(remedy.splitlines()) if remedy else ()


def _remedy(row: Row) -> Cell:
    """The commands as lines to expand and copy, or the sentence of a remedy."""
    text: str | None = row["remedy"]
    return lines(text) if text and "kafka-acls --" in text else text and text.removeprefix("# ")
