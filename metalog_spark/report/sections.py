"""Makes the tables under a report's charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.acl import WILDCARD_PRINCIPAL
from metalog.text.plurals import counted, plural
from metalog_spark.findings.denied import STORM_FROM
from metalog_spark.findings.least_privilege import USES_OF_EVERYONE
from metalog_spark.findings.usage.usage_classes import WHY_UNKNOWN, Reason
from metalog_spark.report.contents import Cell, Column, ColumnKind, Section, can_go_text
from metalog_spark.report.text.row_requests import REQUESTS_COLUMN, row_requests
from metalog_spark.report.text.words import (
    between,
    hosts_text,
    moment,
    offsets,
    permission,
    resource,
)

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog_spark.report.gather import Parts
    from metalog_spark.report.rows import Row, Rows

SEVERITIES: Final = ("ERROR", "WARNING", "INFO")
_OBSERVED: Final = {
    "USED": "used",
    "SHADOWED": "shadowed",
    "ONLY_DENIED": "matched only denied requests",
    "NEVER": "not matched in the window",
}
_POWERS: Final = ("reads", "writes", "administers")
_AMBIGUOUS: Final = "the line can be read in another way, or has another possible time"


class _Field(NamedTuple):
    column: Column
    cell: Callable[[Row], Cell]


def _field(
    title: str, cell: str | Callable[[Row], Cell], kind: ColumnKind = ColumnKind.WORD
) -> _Field:
    return _Field(Column(title, kind), itemgetter(cell) if isinstance(cell, str) else cell)


def _time(title: str, name: str) -> _Field:
    return _field(
        title, lambda row: None if row[name] is None else moment(row[name]), ColumnKind.MOMENT
    )


def _section(
    id: str,
    title: str,
    says: str,
    fields: Sequence[_Field],
    rows: Sequence[Row],
    found: int | None = None,
) -> Section:
    """``found`` counts all rows; None if ``rows`` has all."""
    cells = [tuple(field.cell(row) for field in fields) for row in rows]
    columns = tuple(field.column for field in fields)
    return Section(id, title, says, columns, cells, len(rows) if found is None else found)


def _acls(*rows: Row | None) -> str | None:
    texts = (
        f"{row['principal']}: {permission(row)} on {resource(row)} {row['resource_name']}"
        for row in rows
        if row
    )
    return "; ".join(dict.fromkeys(texts)) or None


def _line(number: int | None) -> str | None:
    return None if number is None else f"line {number:,}"


def lines(remedy: str | None) -> tuple[str, ...]:
    return tuple(remedy.splitlines()) if remedy else ()


def _remedy(row: Row) -> Cell:
    """The remedy's commands as separate lines, or the remedy's sentence."""
    text: str | None = row["remedy"]
    return lines(text) if text and "kafka-acls --" in text else text and text.removeprefix("# ")


_SEVERITY: Final = _field("Severity", "severity", ColumnKind.SEVERITY)
_PRINCIPAL: Final = _field("Principal", "principal", ColumnKind.NAME)
_NAME: Final = _field("Name", "resource_name", ColumnKind.NAME)
_PATTERN: Final = (_field("Resource", resource), _NAME)
_RESOURCE: Final = (_field("Resource", "resource_type"), _NAME)
_ACL: Final = _field("ACL", permission)
_REQUESTS: Final = _field("Requests", "requests", ColumnKind.NUMBER)
_LAST_USE: Final = _time("Last used in the window", "last_use")
_REMEDY: Final = _field("Remedy", _remedy, ColumnKind.LINES)
_OWN_REQUESTS: Final = _Field(REQUESTS_COLUMN, row_requests)


def unused(result: Rows, acls: Sequence[Row], later: int, end: str) -> Section:
    """The use of ``acls``, which were in force in the window and are in force at the log's ``end``.
    ``later`` counts the ACLs that were added after the window."""
    title = "Grants and their use"
    if result.refused:
        says = f"The report cannot say which grants are unused: {result.refused}."
        return Section("unused", title, says, ())
    rows = sorted(acls, key=_by_use)
    grants = sum(row["permission_type"] == "ALLOW" for row in rows)
    can_go = sum(row["can_go"] for row in rows)
    unknown = sum(row["state"] == "UNKNOWN" for row in rows)
    says = (
        f"Of {counted(len(rows), 'ACL')} ({counted(grants, 'grant')}, "
        f"{counted(len(rows) - grants, 'DENY', 'DENYs')}) in force in this window and still at "
        f"{end}, {can_go_text(can_go)}: if all these are removed, every answer of this window "
        f"stays the same. The use of {unknown:,} more is unknown; each row says why. The column"
        " Last used can show a time outside of this window."
    )
    if later:
        says += f" Not judged: {counted(later, 'ACL')} that came after this window."
    fields = (
        _SEVERITY,
        _PRINCIPAL,
        _ACL,
        *_PATTERN,
        _field("Use", _use),
        _REQUESTS,
        _time("Last used", "last_use"),
        _REMEDY,
        _OWN_REQUESTS,
    )
    return _section("unused", title, says, fields, rows)


def _by_use(row: Row) -> tuple[bool, int, bool, int, str, str]:
    return (
        not row["can_go"],
        SEVERITIES.index(row["severity"]),
        row["state"] != "UNKNOWN",
        row["last_use"] or 0,
        row["principal"],
        row["resource_name"],
    )


def _use(row: Row) -> str:
    use = _OBSERVED[row["observed"]]
    if row["state"] == "UNKNOWN":
        return f"unknown: {WHY_UNKNOWN[Reason(row['reason'])]}"
    shadow = row["shadow"]
    if shadow and row["observed"] == "SHADOWED" and row["state"] == "UNUSED":
        by = f"{permission(shadow)} on {resource(shadow)} {shadow['resource_name']}"
        use += f" ({counted(row['matched'], 'request')}, mostly by {by})"
    return f"{use}, can go" if row["can_go"] else use


def least(result: Rows, rows: Sequence[Row], end: str) -> Section:
    title = "Least privilege"
    if result.refused:
        return Section("least", title, f"No smaller set is proposed: {result.refused}.", ())
    today, needed = (sum(row[name] for row in rows) for name in ("acls_today", "acls_least"))
    says = (
        f"{counted(needed, 'grant')} instead of the {today:,} in force at {end} would allow every "
        "request of this window that brokers allowed and that today's ACLs allow, and nothing that "
        "is denied today; a replay has proved this. Grants that came after this window stay. "
        "The columns Granted, Used and Kept count pairs of an operation and a known name. The "
        "column Requests counts the requests that today's ACLs still allow; the command in the "
        'column "Its requests" prints all requests that brokers allowed.'
    )
    fields = (
        _SEVERITY,
        _PRINCIPAL,
        _field("Granted", "granted", ColumnKind.NUMBER),
        _field("Used", "used", ColumnKind.NUMBER),
        _field("Kept", "left", ColumnKind.NUMBER),
        _field("ACLs", "acls_today", ColumnKind.NUMBER),
        _field("Needed", "acls_least", ColumnKind.NUMBER),
        _REQUESTS,
        _field("Remark", remark),
        _REMEDY,
        _OWN_REQUESTS,
    )
    return _section("least", title, says, fields, rows)


def remark(row: Row) -> str | None:
    """Why ``User:*`` has no uses."""
    return USES_OF_EVERYONE if row["principal"] == WILDCARD_PRINCIPAL else None


def access(rows: Sequence[Row], end: str) -> Section:
    fields = (
        _SEVERITY,
        _PRINCIPAL,
        *_PATTERN,
        _field("May", lambda row: ", ".join(filter(row.__getitem__, _POWERS))),
        _field("Operations", lambda row: ", ".join(row["operations"])),
        _field("Denied by a DENY", lambda row: ", ".join(row["denied"])),
        _field(
            "From host",
            lambda row: ", ".join("any" if host == "*" else host for host in row["hosts"]),
        ),
        _REQUESTS,
        _LAST_USE,
    )
    says = (
        f"Who may read, write or administer what, by the ACLs in force at {end}; if a DENY takes "
        'something away, it is in the column "Denied by a DENY". Requests are those of the window.'
    )
    severest = sorted(rows, key=lambda row: SEVERITIES.index(row["severity"]))
    return _section("may", "Who may do what", says, fields, severest)


def exposure(rows: Sequence[Row], end: str) -> Section:
    errors, warnings = (
        sum(row["severity"] == severity for row in rows) for severity in ("ERROR", "WARNING")
    )
    says = (
        f"{counted(errors, 'error')}, {counted(warnings, 'warning')}: dangerous or "
        f"misleading ACLs in force at {end}, and super users."
        if rows
        else "Neither this traffic nor lint's checks for open access show a dangerous ACL."
    )
    fields = (
        _SEVERITY,
        _PRINCIPAL,
        _field("What", lambda row: f"{row['message']} ({row['kind']})"),
        _field("By", lambda row: _acls(row["acl"], row["other"]), ColumnKind.ACLS),
        _REQUESTS,
        _LAST_USE,
        _REMEDY,
        _OWN_REQUESTS,
    )
    return _section("exposure", "Exposure", says, fields, rows)


def denied(result: Rows) -> Section:
    rows = result.rows
    storms = sum(row["storm"] for row in rows)
    says = (
        f"The {counted(len(rows), 'question')} (a principal, an operation and a resource) with the"
        f" most denials, {counted(storms, 'storm')} among them ({STORM_FROM:,} or more denials in a"
        " day), and the ACL that nearly allowed each question."
        if rows
        else "Nothing was denied."
    )
    fields = (
        _SEVERITY,
        _PRINCIPAL,
        _field("Wanted", _wanted),
        *_RESOURCE,
        _field("Denied", "requests", ColumnKind.NUMBER),
        _field("Most in a day", "peak", ColumnKind.NUMBER),
        _time("First", "first_time"),
        _time("Last", "last_time"),
        _field("Nearly allowed by", lambda row: _acls(row["near"]), ColumnKind.ACLS),
        _REMEDY,
        _OWN_REQUESTS,
    )
    return _section("denied", "Denied most", says, fields, rows, result.found)


def _wanted(row: Row) -> str:
    return f"{row['operation']} from {hosts_text(row)}{'' if row['still'] else ', allowed today'}"


def drift(
    rows: Sequence[Row],
    configs: tuple[AuthorizerConfig, AuthorizerConfig] | None,
    since: str,
    end: str,
) -> Section:
    """``configs`` are the desired and the actual configuration, if these can differ."""
    says = (
        f"{counted(len(rows), 'ACL')} came or went {since}, up to {end}; each remedy undoes one"
        " change."
        if rows
        else f"No ACL came or went {since}, up to {end}."
    )
    says = " ".join([says, *(() if configs is None else _other_settings(*configs))])
    change = _field("Change", lambda row: row["change"].lower())
    fields = (_SEVERITY, change, _PRINCIPAL, _ACL, *_PATTERN, _REMEDY)
    return _section("drift", "Drift", says, fields, rows)


def _other_settings(desired: AuthorizerConfig, actual: AuthorizerConfig) -> Iterator[str]:
    if added := actual.super_users - desired.super_users:
        yield f"Super users in this table only: {', '.join(sorted(added))}."
    if removed := desired.super_users - actual.super_users:
        yield f"Super users in all tables but this: {', '.join(sorted(removed))}."
    if actual.allow_everyone is not desired.allow_everyone:
        value = str(actual.allow_everyone).lower()
        yield f"allow.everyone.if.no.acl.found is {value} in this table only."
    if actual.kafka is not desired.kafka:
        this, others = actual.kafka.value, desired.kafka.value
        yield f"This table decides as Kafka {this}, the others as {others}."


def disagreements(result: Rows) -> Section:
    says = (
        "No logged answer contradicts the ACLs of its time, as far as these are known."
        if not result.found
        else f"{counted(result.requests, 'answer')} of brokers "
        f"{plural(result.requests, 'contradicts', 'contradict')} the ACLs in force at the time. "
        "Possible causes are a wrong clock, another authorizer or another configuration."
    )
    fields = (
        _field("Broker", "broker"),
        _PRINCIPAL,
        _field("From host", "host"),
        _field("Operation", "operation"),
        *_RESOURCE,
        _field("Broker's answer", "result"),
        _field("ACLs' answer", "decided"),
        _REQUESTS,
        _time("First", "first"),
        _time("Last", "last"),
        _OWN_REQUESTS,
    )
    return _section("disagreements", "Disagreements", says, fields, result.rows, result.found)


def unseen(parts: Parts) -> Section:
    """Missing and damaged ranges of the log, and rejected or ambiguous lines."""
    ranges = [row for row in parts.history if row["kind"] != "KNOWN"]
    cells: list[tuple[Cell, ...]] = [
        (
            "damaged part, skipped" if row["kind"] == "DAMAGED" else "gap in the metadata log",
            row["source"],
            offsets(row),
            None,
            f"{row['why'] or 'not in the archive'}; {between(row)}",
        )
        for row in ranges
    ]
    cells += [
        (
            "rejected lines (position of the first)",
            row["first"]["file"],
            _line(row["first"]["line"]),
            row["lines"],
            row["reason"],
        )
        for row in parts.rejected
    ]
    cells += [
        (
            "ambiguous lines (position of the first)",
            row["file"],
            _line(row["first"]),
            row["lines"],
            _AMBIGUOUS,
        )
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
        "Changes in a gap are unknown, and each finding that depends on them says so. Lines are "
        "of any time, also outside of this window; the table named rejected has all rejected lines."
        if cells
        else "The metadata log has no gap, and every line of the audit logs was read."
    )
    return Section("unseen", "What could not be read", says, columns, cells, len(cells))
