"""Lists the differences between desired and actual ACLs: of two clusters, or of two moments.

The remedies change the actual ACLs into the desired ACLs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from authorizer.analysis.changes.diff import difference
from authorizer.analysis.lint.finding import Severity
from authorizer.analysis.remedies.commands import CommandKind
from authorizer.trace import is_allow
from metalog.acl import words_of
from metalog_sources.formats.document import acl_order
from metalog_spark.findings.remedy import commands, too_open
from metalog_spark.findings.usage.acl_lifetimes import ACL_SQL
from metalog_spark.findings.windows.state import config_now, lifetimes_in
from metalog_spark.store.arrow import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog_spark.store.table_store import Tables

SCHEMA: Final = f"change STRING, {ACL_SQL}, severity STRING, remedy STRING"
"""``change`` is ADDED for an ACL that only the actual state has, and REMOVED for an ACL that
only the desired state has."""


def drift(
    desired: Tables, actual: Tables, *, desired_at: int | None = None, actual_at: int | None = None
) -> DataFrame:
    """Rows of ``SCHEMA``, the most severe first.

    ``desired_at`` and ``actual_at`` are offsets (exclusive) in the logs of ``desired`` and
    ``actual``; None is the end of the history. ``desired`` can be ``actual`` itself.
    """
    before, after = (
        lifetimes_in(tables).at(offset)
        for tables, offset in ((desired, desired_at), (actual, actual_at))
    )
    differs = difference(before, after, {}, {})
    dangers = too_open(differs.added, config_now(actual))
    rows = [
        (dangers.get(acl, Severity.INFO), "ADDED", acl, CommandKind.REMOVE) for acl in differs.added
    ]
    rows += [
        (Severity.INFO if is_allow(acl) else Severity.WARNING, "REMOVED", acl, CommandKind.ADD)
        for acl in differs.removed
    ]
    rows.sort(key=lambda row: (-row[0], acl_order(row[2])))
    return frame_of(
        actual.session,
        [
            (change, *words_of(acl), severity.name, commands([(undoing, acl)]))
            for severity, change, acl, undoing in rows
        ],
        SCHEMA,
    )
