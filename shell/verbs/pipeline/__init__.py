"""``metalog pipeline VERB``: the table of its verbs. Each verb is a module in this folder.

This module must not know what any verb does, nor Spark.
"""

from __future__ import annotations

from typing import Final

from shell.verb_table import Verb, VerbTable

_OPENING: Final = """\
usage: metalog pipeline VERB DIR [options]      what a cluster's users really did, on Spark
"""

_CLOSING: Final = """\
DIR is the folder that build makes: tables of Parquet for the other verbs. Without --master or
--remote Spark runs on this machine alone, on all of its cores; it needs Java 17 or newer, and
pip install 'kraft-metalog[spark]'.

metalog pipeline VERB --help says more, also what its exit codes mean.
"""

VERBS: Final[dict[str, Verb]] = {
    "build": Verb(
        "Make",
        "Build the tables from a metadata log, audit logs and a configuration",
        "shell.verbs.pipeline.build",
    ),
    "unused": Verb(
        "Find", "Which ACLs nobody used, and which can go", "shell.verbs.pipeline.unused"
    ),
    "least-privilege": Verb(
        "Find",
        "The narrowest ALLOWs for each principal's requests, proven by replay",
        "shell.verbs.pipeline.least_privilege",
    ),
    "what-if": Verb(
        "Find",
        "Which real requests other ACLs would answer differently",
        "shell.verbs.pipeline.what_if",
    ),
    "requests": Verb(
        "Find", "Single requests, such as those behind a finding", "shell.verbs.pipeline.requests"
    ),
    "report": Verb(
        "Show",
        "All findings as one HTML page, and one page for each team",
        "shell.verbs.pipeline.report",
    ),
    "shell": Verb(
        "Show", "One Spark session for many verbs and SQL queries", "shell.verbs.pipeline.shell"
    ),
    "export": Verb(
        "Show", "The tables as plain Parquet, for any other engine", "shell.verbs.pipeline.export"
    ),
    "follow": Verb(
        "Watch",
        "Decide requests as their audit lines arrive, and raise alerts",
        "shell.verbs.pipeline.follow",
    ),
    "demo": Verb(
        "Try",
        "Generate a small company's year, and run the pipeline on it",
        "shell.verbs.pipeline.demo",
    ),
}

TABLE: Final = VerbTable("pipeline ", VERBS, _OPENING, _CLOSING)
