"""``metalog pipeline export DIR OUT``: the tables as plain Parquet that any engine reads.

This module must not know how a table is written.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from metalog.text.plurals import counted
from shell.arguments.pipeline import add_folder, add_spark, check_installed, is_here, opened_folder
from shell.output.output import Cell, Output

USAGE: Final = "DIR OUT [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """\
metalog pipeline export prod.tables /data/acl-audit
metalog pipeline export prod.tables s3a://lake/acl-audit --spark-conf …

OUT has a folder for each table. The tables requests, decisions and usage are divided by day:
OUT/requests/day=2026-01-01/*.parquet. On the local disk OUT appears whole or not at all. If DIR
is on a local disk, DIR/current already has the last build in this form.

Exit code: 0 written, 2 not written."""


def configure(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("out", metavar="OUT", help="a folder or URI that is new or empty")
    add_spark(parser)


def run(arguments: Namespace, output: Output) -> int:
    check_installed(output)
    from metalog_spark.store.parquet_export import check_target, export

    is_on_disk = is_here(arguments, arguments.out)
    check_target(arguments.folder, arguments.out, is_here=is_on_disk)
    with opened_folder(arguments, output) as tables, output.busy("reading the tables") as progress:
        exported = export(
            tables,
            arguments.out,
            is_here=is_on_disk,
            doing=lambda doing: setattr(progress, "doing", doing),
        )
    if output.is_text:
        rows = ((Cell(each.table, "name"), counted(each.rows, "row")) for each in exported)
        output.aligned(rows)
    else:
        output.records(("table", "rows"), exported)
    return 0
