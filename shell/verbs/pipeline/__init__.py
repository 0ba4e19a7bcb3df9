"""``metalog pipeline VERB``: the table of its verbs. Each verb is a module in this folder.

This module must not know what any verb does, nor Spark.
"""

from __future__ import annotations

from typing import Final

from shell.verb_table import VerbTable, verbs_of

_OPENING: Final = """\
usage: metalog pipeline VERB DIR [options]      what users really did, computed by Spark
"""

_CLOSING: Final = """\
DIR is the folder that build makes: tables of Parquet for the other verbs. Without --master and
--remote, Spark runs on this machine alone, on all of its cores; it needs Java 17 or newer, and
pip install 'kraft-metalog[spark]'.

metalog pipeline VERB --help says more, also what its exit codes mean.
"""

VERBS: Final = verbs_of(
    {
        ("Make", __name__): {
            "build": "Build the tables from a metadata log, audit logs and a configuration"
        },
        ("Find", __name__): {
            "unused": "Which ACLs nobody used, and which of them can go",
            "least-privilege": "The narrowest ALLOWs for each principal's requests, proven by "
            "replay",
            "what-if": "The real requests that other ACLs would answer differently",
            "requests": "Single requests, such as those behind a finding",
        },
        ("Show", __name__): {
            "report": "All findings as one HTML page, and one page for each team",
            "shell": "One Spark session for many verbs and SQL queries",
            "export": "The tables as plain Parquet, for any other engine",
        },
        ("Watch", __name__): {
            "follow": "Decide requests as their audit lines arrive, and raise alerts"
        },
        ("Try", __name__): {"demo": "Generate a small company's year, and run the pipeline on it"},
    }
)

TABLE: Final = VerbTable("pipeline ", VERBS, _OPENING, _CLOSING)
