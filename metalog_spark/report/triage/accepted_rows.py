"""Finds the rows that entries of ``--accepted`` accept, with Spark.

This module must not know the findings, nor where entries come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from metalog_spark.report.triage.accepted import Accepted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def marked(
    findings: DataFrame, entries: Sequence[Accepted], columns: Mapping[str, str], today: date
) -> DataFrame:
    """``findings`` with a column ``entry``: the index of the matching entry in force that ends
    last, or null. ``columns`` has the column of each field of an entry."""
    from pyspark.sql import functions as f

    in_force = [at for at, entry in enumerate(entries) if entry.until >= today]
    in_force.sort(key=lambda at: entries[at].until, reverse=True)
    covers = _covers(entries, columns)
    matches = [f.when(covers[at], f.lit(at)) for at in in_force]
    return findings.withColumn("entry", f.coalesce(*matches, f.lit(None).cast("int")))


def matching(
    findings: DataFrame, entries: Sequence[Accepted], columns: Mapping[str, str]
) -> list[Accepted]:
    """The entries that match any of ``findings``."""
    from pyspark.sql import functions as f

    if not entries:
        return []
    [row] = findings.agg(*(f.bool_or(cover) for cover in _covers(entries, columns))).collect()
    return [entry for entry, is_any in zip(entries, row, strict=True) if is_any]


def _covers(entries: Sequence[Accepted], columns: Mapping[str, str]) -> list[Column]:
    from pyspark.sql import functions as f

    return [
        reduce(and_, (f.col(columns[name]) == text for name, text in entry.fields.items()))
        for entry in entries
    ]
