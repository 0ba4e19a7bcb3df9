"""``metalog pipeline follow``: decides requests as their lines come in, and tells what is new.

This module must not know how a batch is carried out, nor what deserves an alert.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from shell.context import add_command_config
from shell.output import Output
from shell.safe import safe
from shell.spark import add_spark, spark_session

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from metalog_spark.folder import Tables
    from metalog_spark.follow.batch import Following

USAGE: Final = "--log SOURCE --audit FOLDER --out DIR [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """\
metalog pipeline follow --log quorum://c1:9093 --audit /logs/rotated --out /data/now \\
    --config server.properties                        until Ctrl-C, alerts as they come
metalog pipeline follow … --once                      what there is now, from cron

A line counts once, wherever the process was stopped or killed; start it again with the same
DIR. Files are taken whole when they appear, so move them there when they are finished, and
leave them their names. A request is decided by the ACLs of its own time, so it waits until
the log is known up to then. Every other verb reads DIR, as of the last orderly end.

Exit code: 0 stopped when asked, 2 it broke off."""
_STYLES: Final = {"ERROR": "bad", "WARNING": "warn", "INFO": "faint"}
_LOOK_S: Final = 1.0
_OWN_ERROR: Final = re.compile(r"^metalog\.errors\.\w+: (.*)$", re.MULTILINE)


def configure(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("what is followed, and where to")
    group.add_argument("--log", required=True, metavar="SOURCE", help="a log that is written")
    group.add_argument(
        "--audit",
        required=True,
        metavar="FOLDER",
        help="where finished audit logs appear; a pattern of folders too",
    )
    group.add_argument("--out", required=True, metavar="DIR", help="the pipeline's folder, or new")
