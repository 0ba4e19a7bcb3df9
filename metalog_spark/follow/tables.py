"""Fills the tables that follow from what was committed, so that every finding reads the folder.

They are remade whole from the others and the log, at one moment.
This module must not know batches.
"""

from __future__ import annotations

from metalog_spark.changelog import changelog_rows, history_rows
from metalog_spark.configuration import Configuration
from metalog_spark.coverage import counted, covered
from metalog_spark.folder import Tables
from metalog_spark.history import History
from metalog_spark.tables import (
    ACL_CHANGELOG,
    CONFIGURATION,
    COVERAGE,
    DECISIONS,
    HISTORY,
    REQUESTS,
    USAGE,
)
from metalog_spark.usage import usage


def complete(tables: Tables, history: History, source: str, configuration: Configuration) -> None:
    session = tables.session
    with tables.at_once():
        tables.replace(HISTORY, history_rows(session, history.stretches, source))
        tables.replace(ACL_CHANGELOG, changelog_rows(session, history.lives, source))
        tables.replace(CONFIGURATION, configuration.rows(session))
        tables.replace(COVERAGE, covered(counted(tables.read(REQUESTS))))
        tables.replace(USAGE, usage(tables.read(DECISIONS)))
