"""A report's contents made by hand, with a hostile name wherever a name can be."""

from __future__ import annotations

from datetime import date, datetime

from metalog_spark.report.contents import (
    Access,
    AccessCell,
    Column,
    ColumnKind,
    Excess,
    Number,
    ReportContents,
    Section,
    Strip,
    TimeBars,
)

HOSTILE = "<script>alert(1)</script>"
QUOTED = "User:\"'><img src=x onerror=alert(2)>"
SEPARATED = "User:a\u2028b</script><b>&amp;"
HIDDEN = "User:bil\u200bling"
COMMAND = f"kafka-acls --remove --allow-principal 'User:x' --topic '{HOSTILE}'"
ALLOWED = (120, 0, 3_000_000, 41)
DENIED = (3, 7, 0, 2)
CHANGES = (0, 2, 1, 0)
PRINCIPALS = ("User:app", QUOTED, SEPARATED, HIDDEN)
PATTERNS = (("TOPIC", "LITERAL", HOSTILE), ("TOPIC", "PREFIXED", "pay-"), ("GROUP", "LITERAL", "g"))
CELLS = (
    AccessCell(0, 0, "READ, WRITE", "READ", 0.5, False),
    AccessCell(0, 1, "READ", "READ", 1.0, False),
    AccessCell(1, 0, "WRITE", "", 0.0, False),
    AccessCell(2, 2, "READ", "", None, False),
    AccessCell(3, 1, "ALL", "", 0.0, True),
)
ROWS = (
    ("ERROR", QUOTED, "TOPIC PREFIXED", HOSTILE, 41, datetime(2025, 3, 1, 12, 30), (COMMAND,)),
    ("INFO", "User:app-of-no-TOPIC", "GROUP", "g", 1_000, None, (COMMAND, COMMAND)),
)


def small_contents(
    rows: tuple[tuple[object, ...], ...] = ROWS, **changed: object
) -> ReportContents:
    columns = (
        Column("Severity", ColumnKind.SEVERITY),
        Column("Principal", ColumnKind.NAME),
        Column("Resource"),
        Column("Name", ColumnKind.NAME),
        Column("Requests", ColumnKind.NUMBER),
        Column("Last", ColumnKind.MOMENT),
        Column("Remove", ColumnKind.LINES),
    )
    contents = ReportContents(
        cluster=HOSTILE,
        team=None,
        facts=(("Window", "1 to 4 March 2025"), ("Log", f"/archive/{HOSTILE}")),
        sentence="1 of 5 grants was used; 2 can go without changing any of 3,000,173 answers.",
        caveats=("1 audit line could not be read, and it can be a use",),
        numbers=(
            Number(3_000_173, "answers", "window"),
            Number(2, "grants that can go", "unused"),
            Number(None, "findings", "quiet"),
            Number(0, "disagreements", "quiet"),
        ),
        window=TimeBars(
            date(2025, 3, 1),
            1,
            ALLOWED,
            DENIED,
            CHANGES,
            (Strip("1", "bbdb", (72, 24, 0)), Strip(HOSTILE, "bnnb", (48, 0, 48))),
            "Four days.",
        ),
        excess=(Excess(QUOTED, 40, 7, 4, 1, (COMMAND,)), Excess("User:app", 2, 2, 2, 2, ())),
        excess_says="Counts of ACLs.",
        access=Access(PRINCIPALS, PATTERNS, CELLS, "4 principals by 3 patterns."),
        sections=(
            Section("unused", "Unused", "What was not used.", columns, rows, len(rows)),
            Section("quiet", "Quiet", "Nothing was found.", ()),
        ),
        teams=((HOSTILE, "report-script.html"),),
        made_by="Made by hand.",
        section_command="metalog pipeline report DIR -o csv --section",
    )
    return contents._replace(**changed)  # type: ignore[arg-type]
