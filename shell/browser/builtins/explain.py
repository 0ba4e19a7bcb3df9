"""The command ``explain``: prints why a request is allowed or denied, as the verb ``explain`` does.

The first question reads the broker's configuration. This module must not know how an explanation is
found.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from metalog.acl import Operation, camel
from metalog.errors import InvalidRequest, MetalogError
from metalog.text.os_errors import os_error_text
from metalog.text.visible_text import safe
from shell.browser import globs
from shell.browser.nodes import Directory
from shell.browser.paths import expand
from shell.browser.session import Builtin, ShellSession
from shell.context import read_config
from shell.options import parse, plain_parser
from shell.output.output import Output
from shell.tasks.broker.broker_context import Context

if TYPE_CHECKING:
    from authorizer.audit.line import AuditLine
    from metalog_sources.replay import Replayed
    from metalog_sources.source import Source
    from shell.tasks.queries import Queries

_STDIN: Final = "-"


def explain_command(
    arguments: Namespace, source: Source, newest: Callable[[], Replayed]
) -> Builtin:
    """``arguments`` are those of ``metalog shell``. ``newest`` returns the log's newest state."""

    @cache
    def context(output: Output) -> Context:
        return read_config(arguments, source, output, decides=True)

    def run(session: ShellSession, words: Sequence[str]) -> None:
        from shell.inputs.queries import context_of_lines, queries_over
        from shell.views.explaining import explain

        output = session.output

        def queries_for(lines: Sequence[AuditLine]) -> Queries:
            replayed = newest()
            configured = context_of_lines(context(output), lines, output)
            return queries_over(replayed, source, configured, arguments, output)

        try:
            typed = parse(_parser(), [globs.unescaped(word) for word in words])
            if _STDIN in (*typed.question, typed.audit, typed.requests):
                raise InvalidRequest("'-' cannot be used in this shell, which itself reads stdin")
            both = Namespace(**{**vars(arguments), **vars(typed)})
            session.failed |= explain(both, queries_for, output) != 0
        except MetalogError as problem:
            session.complain(f"explain: {problem}")
        except OSError as problem:
            if problem.filename is None:
                raise
            session.complain(f"explain: {os_error_text(problem)}")

    return Builtin(
        synopsis="explain QUESTION",
        summary="say why a principal may do something, or may not",
        manual=(
            "QUESTION is PRINCIPAL OPERATION TYPE:NAME [--host ADDRESS], or an audit line of Kafka",
            "in quotes, as in: explain User:app Write topic:payments --host 10.0.0.7. This command",
            "has the question options of metalog explain: --consumer, --producer, --audit FILE, ….",
            "The broker's configuration is set by options of metalog shell: --config,",
            "--super-users, --allow-everyone and --kafka.",
        ),
        run=run,
        least=1,
        takes=_candidates,
    )


@cache
def _parser() -> ArgumentParser:
    from shell.views.explaining import add_explaining

    parser = plain_parser("explain", "man explain shows the form of a question")
    add_explaining(parser)
    return parser


def _candidates(session: ShellSession, typed: Sequence[str]) -> list[str]:
    asking = (_principals, _operations, _resources)
    if len(typed) > len(asking) or any(word.startswith("-") for word in typed):
        return [name for action in _parser()._actions for name in action.option_strings]
    return asking[len(typed) - 1](session)


def _principals(session: ShellSession) -> list[str]:
    return _printable(_names(session, "/acl/byPrincipal"))


def _operations(session: ShellSession) -> list[str]:
    return [
        camel(operation)
        for operation in Operation
        if operation not in (Operation.UNKNOWN, Operation.ANY)
    ]


def _resources(session: ShellSession) -> list[str]:
    resources: dict[str, None] = {}
    for type_name in _names(session, "/acl/byResource"):
        kind = type_name.lower().replace("_", "-")
        resources[f"{kind}:"] = None
        for name in _names(session, f"/acl/byResource/{type_name}/*"):
            resources[f"{kind}:{name}"] = None
    for name in _names(session, "/image/topics/byName"):
        resources[f"topic:{name}"] = None
    return _printable(resources)


def _names(session: ShellSession, glob: str) -> Iterator[str]:
    for match in expand(session.root, (), glob):
        if isinstance(match.node, Directory):
            yield from match.node.names


def _printable(words: Iterable[str]) -> list[str]:
    return [word for word in words if safe(word) == word]
