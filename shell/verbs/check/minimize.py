"""``metalog minimize SOURCE``: a smaller set of ACLs that is proven to mean the same.

The verb changes nothing. This module must not know how the set is found.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from authorizer.trace import Question
from metalog.acl import WILDCARD_PRINCIPAL, Operation, ResourceType
from metalog.text.plurals import counted
from metalog_sources.formats.document import AclEntry, Document, acl_order
from metalog_sources.targets.plan import step_fields
from shell.context import add_config, add_source
from shell.inputs.acl_files import read_document
from shell.inputs.queries import queries_of
from shell.options import at_least
from shell.output.output import Output
from shell.tasks.acl_words import sentence
from shell.tasks.proof.minimize import KeptAcls, Minimized, minimized
from shell.views.plans.plan import SIGNS, print_commands

USAGE: Final = "SOURCE [--keep-denies] [--keep-owned FILE] [options]"
FORMATS: Final = ("text", "json", "yaml", "commands")
PAGED: Final = True
EPILOG: Final = """\
metalog minimize @prod --keep-denies --keep-owned acls/
metalog minimize @prod -o commands                     the changes as kafka-acls commands
metalog minimize acls/ -o yaml > smaller.yaml

It leaves out ACLs that others make redundant, replaces a complete list of operations by ALL, and
replaces literals by a prefix if the prefix grants nothing more. Each step is proven: no decision
changes for any kind of request that the ACLs distinguish.

Exit code: 0 done, also if no smaller set was found; 2 no answer."""


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    limits = parser.add_argument_group("limits")
    limits.add_argument("--keep-denies", action="store_true", help="keep every DENY")
    limits.add_argument(
        "--keep-owned",
        action="append",
        metavar="FILE",
        default=[],
        help="keep the ACLs that this file, or a file of this folder, owns",
    )
    limits.add_argument(
        "--shortest-prefix",
        type=at_least(1, "--shortest-prefix"),
        metavar="N",
        default=1,
        help="fewest characters of a new prefix (default: 1)",
    )
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    owns = tuple(
        own
        for file in arguments.keep_owned
        for own in read_document(file, arguments, output).document.owns
    )
    queries = queries_of(arguments, output, is_whole=True)
    queries.check_ready(Question(WILDCARD_PRINCIPAL, Operation.DESCRIBE, ResourceType.TOPIC, "any"))
    keep = KeptAcls(arguments.keep_denies, owns, arguments.shortest_prefix)
    topics = queries.image.topics.by_name.keys()
    found = minimized(queries.acls, queries.context.config, keep, topics)
    if output.is_text:
        output.aligned([SIGNS[step.change], sentence(step.acl)] for step in found.steps)
        output.line(_summary(found))
    elif output.format == "json":
        for step in found.steps:
            output.record(step_fields(step))
    elif output.format == "commands":
        everyone = queries.context.config.allow_everyone
        print_commands(found.steps, queries.command_target, output, allow_everyone=everyone)
    else:
        from metalog_sources.formats.yaml import write_yaml

        entries = tuple(AclEntry(acl) for acl in sorted(found.acls, key=acl_order))
        for line in write_yaml(Document(entries)).splitlines():
            output.line(line)
    return 0


def _summary(found: Minimized) -> str:
    acls = counted(found.count_before, "ACL")
    if not found.steps:
        return f"{acls}, and no smaller set was found that means the same."
    after_text = f"{len(found.acls):,} after, proven to mean the same"
    text = f"{acls} before, {after_text} ({counted(found.cells, 'cell')})."
    if found.topics:
        (before, after), (before_us, after_us) = found.matching, found.kafka_us
        text += (
            f" For a Metadata request for all {counted(found.topics, 'topic')}, Kafka makes"
            f" {counted(before, 'ACL check')} before (about {before_us:,.0f} µs), and"
            f" {after:,} after (about {after_us:,.0f} µs)."
        )
    return text
