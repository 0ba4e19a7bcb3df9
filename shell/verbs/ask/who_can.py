"""``metalog who-can SOURCE OPERATION TYPE:NAME``: the principals that may do an operation on a
resource, and by which ACLs.

This module must not know how the principals are found.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from authorizer.analysis.access.who_can import who_can
from authorizer.trace import Question
from metalog.acl import WILDCARD_PRINCIPAL
from metalog.errors import InvalidRequest
from shell.arguments.question import as_java_writes
from shell.arguments.resources import parse_operation, parse_resource
from shell.context import add_config, add_source
from shell.inputs.queries import queries_of
from shell.output.output import Output
from shell.views.explanation import notes_on_host, notes_on_resource
from shell.views.holders import differing_acls, holder_records, print_holders
from shell.views.other_kafka import say_other_result

USAGE: Final = "SOURCE OPERATION TYPE:NAME [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = True
EPILOG: Final = """\
metalog who-can /var/kafka/metadata Write topic:payments --config server.properties
metalog who-can SOURCE Alter cluster                    who can change the ACLs

Exit code: 0 somebody may, 1 nobody but super users, 2 no answer."""


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    question = parser.add_argument_group("question")
    question.add_argument("operation", metavar="OPERATION", help="in upper or lower case")
    question.add_argument(
        "resource", metavar="TYPE:NAME", help="topic:payments, or cluster without a name"
    )
    question.add_argument(
        "--host", metavar="ADDRESS", help="from this address only (default: from anywhere)"
    )
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    host = as_java_writes(arguments.host)
    if ":" in arguments.operation or arguments.operation.startswith("@"):
        raise InvalidRequest(
            f"{arguments.operation!r} is not an operation; the order is SOURCE OPERATION TYPE:NAME"
        )
    operation, resource = parse_operation(arguments.operation), parse_resource(arguments.resource)
    question = Question(WILDCARD_PRINCIPAL, operation, *resource, host)
    queries = queries_of(arguments, output)
    queries.check_ready(question)
    acls = queries.image.acls.by_id.values()
    found = who_can(acls, queries.context.config, operation, *resource, host)
    if (other := queries.of_other_kafka) is not None:
        other_found = who_can(acls, other.context.config, operation, *resource, host)
        if other_found != found:
            differing = differing_acls(found, other_found)
            say_other_result(differing, queries.context.config.kafka, output)
    unknown = (str(each) for each in queries.unknown(question) if each.what != "principal")
    for note in (*unknown, *notes_on_resource(question), *notes_on_host(host)):
        output.note(note)
    super_users = sorted(queries.context.config.super_users)
    if output.is_text:
        print_holders(question, found, super_users, output)
    else:
        for record in holder_records(question, found, super_users, queries):
            output.record(record)
    return 0 if any(holder.may for holder in found.holders) else 1
