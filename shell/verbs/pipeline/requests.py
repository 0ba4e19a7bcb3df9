"""``metalog pipeline requests DIR``: requests one by one, such as those behind a finding.

This module must not know where requests are stored.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from authorizer.analysis.remedies.commands import quoted
from metalog.errors import InvalidRequest
from metalog.ids import parse_uuid
from metalog.text.plurals import counted
from metalog.text.visible_text import shown
from metalog_sources.moment import time_text
from shell.arguments.pipeline import add_spark, check_installed, opened_folder
from shell.arguments.resources import parse_operation, parse_resource
from shell.output.output import Cell, Output
from shell.tasks.acl_words import sentence
from shell.views.pipeline.findings import add_window, chosen_window

if TYPE_CHECKING:
    from metalog_spark.store.table_store import Tables

USAGE: Final = "DIR [--principal P] [--operation O] [--resource TYPE:NAME] [options]"
FORMATS: Final = ("text", "json", "csv")
PAGED: Final = True
EPILOG: Final = """\
metalog pipeline requests DIR --from -1d --principal User:billing --result DENIED
metalog pipeline requests DIR --resource TOPIC:orders --disagrees -o csv > odd.csv

Requests are sorted by time. Each has the broker's answer, the decision by the ACLs at that time,
and the file and line. Other verbs print a pipeline requests command for the requests behind a
finding: in the report's page, in -o json, and in text for the first rows.

Exit code: 0 printed, 2 no answer."""


def configure(parser: ArgumentParser) -> None:
    add_window(parser)
    group = parser.add_argument_group("filters")
    group.add_argument("--principal", metavar="P", help="such as User:billing")
    group.add_argument("--operation", metavar="O", help="READ, WRITE, …")
    group.add_argument("--resource", metavar="TYPE:NAME", help="such as TOPIC:orders")
    group.add_argument("--host", metavar="HOST", help="the client's address")
    group.add_argument("--broker", metavar="NAME", help="the broker that answered")
    group.add_argument(
        "--result",
        choices=("ALLOWED", "DENIED"),
        metavar="RESULT",
        help="the broker's answer: ALLOWED or DENIED",
    )
    group.add_argument(
        "--acl",
        metavar="ID",
        help="only requests that this ACL decided; without --disagrees, only those that the broker"
        " answered in the same way",
    )
    group.add_argument(
        "--matches", metavar="ID", help="only requests that this ACL matches, whichever ACL decided"
    )
    group.add_argument(
        "--disagrees",
        action="store_true",
        help="only requests that the broker answered against the ACLs",
    )
    add_spark(parser)


def _check_acl_id(text: str, folder: str) -> None:
    try:
        parse_uuid(text)
    except ValueError:
        raise InvalidRequest(
            f"{text} is not the id of an ACL; metalog pipeline unused {quoted(folder)} --json"
            " prints the ids"
        ) from None


def run(arguments: Namespace, output: Output) -> int:
    check_installed(output)
    for acl_id in filter(None, (arguments.acl, arguments.matches)):
        _check_acl_id(acl_id, arguments.folder)
    from metalog_spark.findings.windows.request_rows import COLUMNS, RequestFilter, requests_in

    resource, operation = arguments.resource, arguments.operation
    # old consumers without a group are logged with an empty name
    kind, name = (None, None) if resource is None else parse_resource(resource, may_be_empty=True)
    wanted = RequestFilter(
        principal=arguments.principal,
        operation=None if operation is None else parse_operation(operation).name,
        resource_type=None if kind is None else kind.name,
        resource_name=name,
        host=arguments.host,
        broker=arguments.broker,
        result=arguments.result,
        acl_id=arguments.acl,
        matches=arguments.matches,
        disagrees=arguments.disagrees,
    )
    with opened_folder(arguments, output) as tables:
        window = chosen_window(arguments, tables, output)
        for acl_id in filter(None, (arguments.acl, arguments.matches)):
            _say_acls_with_id(tables, acl_id, output)
        with output.busy("reading requests"):
            rows = requests_in(tables, window, wanted)
            found = rows.selectExpr("unix_micros(time) AS us", "*").drop("time")
            lines = _with_time_text(row.asDict() for row in found.toLocalIterator())
            _print(lines, COLUMNS, output)
    return 0


def _say_acls_with_id(tables: Tables, acl_id: str, output: Output) -> None:
    """If several ACLs had the id in turn, say when each had it."""
    from metalog_spark.findings.windows.request_rows import acls_with_id

    uuid, acls = parse_uuid(acl_id), acls_with_id(tables, acl_id)
    which = f"{counted(len(acls), 'ACL')} had the id {acl_id} in turn; choose by --from and --to"
    for life in chain.from_iterable(acls.values()):
        if len(acls) > 1 and life.id == uuid:
            begin, end = ("-" if edge is None else time_text(edge.time_ms) for edge in life[2:])
            output.note(f"{which}: {begin} to {end}: {sentence(life.acl)}")


def _with_time_text(rows: Iterator[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {"time": time_text(row["us"] // 1000), **{k: v for k, v in row.items() if k != "us"}}


def _print(rows: Iterator[dict[str, Any]], columns: tuple[str, ...], output: Output) -> None:
    if output.is_text:
        output.aligned(_cells(row) for row in rows)
        return
    keys = [_json_name(name) for name in columns]
    output.records(keys, ([row[name] for name in columns] for row in rows))


def _cells(row: Mapping[str, Any]) -> list[Cell | str]:
    result, decided = row["result"], row["decided"]
    odd = "" if decided in (None, result) else f"the ACLs say {decided}"
    return [
        row["time"],
        Cell(result, "good" if result == "ALLOWED" else "bad"),
        shown(row["principal"]),
        row["operation"],
        f"{row['resource_type']} {shown(row['resource_name'])}",
        f"from {shown(row['host'])}",
        f"broker {shown(row['broker'])}",
        Cell(shown(row["file"]) + ("" if row["line"] is None else f":{row['line']}"), "faint"),
        Cell(odd, "warn"),
    ]


def _json_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
