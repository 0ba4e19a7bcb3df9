"""``metalog pipeline VERB``: which verbs it has; each is a module beside this one.

This module must not know what any of them does, nor Spark.
"""

from __future__ import annotations

from typing import Final

from shell.verb_table import Verb, VerbTable

_OPENING: Final = """\
usage: metalog pipeline VERB DIR [options]      what a cluster's users really did, on Spark
"""

_CLOSING: Final = """\
DIR is the folder that build makes: tables of Parquet, which every other verb reads. Without
--master or --remote Spark runs on this machine alone, on all of its cores; it needs Java 17 or
newer, and pip install 'kraft-metalog[spark]'.

metalog pipeline VERB --help says more.  Exit codes: 0 done, 1 findings, 2 could not answer.
"""

VERBS: Final[dict[str, Verb]] = {
    "build": Verb(
        "Make",
        "The tables, from a metadata log, audit logs and a configuration",
        "shell.verbs.pipeline.build",
    ),
    "unused": Verb(
        "Find", "Which ACLs nobody used, and which can go", "shell.verbs.pipeline.unused"
    ),
    "least-privilege": Verb(
        "Find",
        "The least ACLs for what each principal did, proven by replay",
        "shell.verbs.pipeline.least_privilege",
    ),
    "what-if": Verb(
        "Find",
        "Whose real requests other ACLs would answer otherwise",
        "shell.verbs.pipeline.what_if",
    ),
    "requests": Verb(
        "Find",
        "Requests one by one, such as those behind a finding",
        "shell.verbs.pipeline.requests",
    ),
    "report": Verb(
        "Show", "All of it as one page, and one for each team", "shell.verbs.pipeline.report"
    ),
    "shell": Verb(
        "Show",
        "One Spark for many questions: each a verb, or SQL of the tables",
        "shell.verbs.pipeline.shell",
    ),
    "export": Verb(
        "Show",
        "The tables as plain Parquet, for any other engine",
        "shell.verbs.pipeline.export",
    ),
    "follow": Verb(
        "Watch",
        "Requests decided as their lines come in, and alerts",
        "shell.verbs.pipeline.follow",
    ),
    "demo": Verb(
        "Try",
        "A year of a small company, made up, and all of this on it",
        "shell.verbs.pipeline.demo",
    ),
}

TABLE: Final = VerbTable("pipeline ", VERBS, _OPENING, _CLOSING)
