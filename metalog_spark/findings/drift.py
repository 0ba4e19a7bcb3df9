"""The differences between the ACLs of two clusters, or of one cluster at two moments.

The first is the desired state, the second the actual one: a remedy makes the second like the
first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from authorizer.analysis.changes.diff import difference
from authorizer.analysis.lint.finding import Severity
from authorizer.analysis.remedies.commands import CommandKind
from authorizer.trace import is_allow
from metalog.acl import words_of
from metalog_sources.formats.document import acl_order
from metalog_spark.findings.remedy import commands, opening
from metalog_spark.findings.usage.acl_lifetimes import ACL_SQL
from metalog_spark.findings.windows.state import config_now, lifetimes_in
from metalog_spark.store.arrow import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog.acl import Acl
    from metalog_spark.store.table_store import Tables

SCHEMA: Final = f"change STRING, {ACL_SQL}, severity STRING, remedy STRING"
"""``change`` is ADDED if only the second has the ACL, REMOVED if only the first has it."""


def drift(
    desired: Tables, actual: Tables, *, desired_at: int | None = None, actual_at: int | None = None
) -> DataFrame:
    """Rows of ``SCHEMA``, the most severe first.

    ``desired_at`` and ``actual_at`` are offsets (exclusive), each in its own log; None is the end
    of the history. Both folders may be the same.
    """
    before, after = (
        lifetimes_in(tables).at(offset)
        for tables, offset in ((desired, desired_at), (actual, actual_at))
    )
    differs = difference(before, after, {}, {})
    dangers = opening(differs.added, config_now(actual))
    rows = [_added(acl, dangers.get(acl, Severity.INFO)) for acl in differs.added]
    rows += map(_removed, differs.removed)
    rows.sort(key=lambda row: (-row[0], acl_order(row[2])))
    return frame_of(
        actual.session,
        [
            (change, *words_of(acl), severity.name, commands([(undoing, acl)]))
            for severity, change, acl, undoing in rows
        ],
        SCHEMA,
    )


def _added(acl: Acl, danger: Severity) -> tuple[Severity, str, Acl, CommandKind]:
    return max(danger, Severity.INFO), "ADDED", acl, CommandKind.REMOVE


def _removed(acl: Acl) -> tuple[Severity, str, Acl, CommandKind]:
    """A removed DENY gives access; a removed ALLOW takes it away."""
    severity = Severity.INFO if is_allow(acl) else Severity.WARNING
    return severity, "REMOVED", acl, CommandKind.ADD
