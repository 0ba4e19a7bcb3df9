"""Reads a question from arguments, from an audit line of Kafka, or from a JSON object.

Arguments are PRINCIPAL OPERATION TYPE:NAME, or kafka-acls' long options. This module must not
decide or print.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any, Final

from authorizer.trace import Question
from metalog.acl import CLUSTER_NAME, ResourceType
from metalog.errors import InvalidRequest
from metalog.hosts.client_host import client_host
from metalog.principal import parse_principal
from metalog.records.primitives.text import has_lone_surrogate
from metalog_sources.formats.nodes.words import read_word
from shell.arguments.resources import add_resources, parse_operation, parse_resource, resources
from shell.tasks.questions import ParsedQuestion

FORM: Final = (
    "ask with PRINCIPAL OPERATION TYPE:NAME (User:app Write topic:payments), "
    "with --principal, --operation and --topic, or with one audit line of Kafka in quotes"
)

_CHARACTERS_SHOWN: Final = 60
_MOST_STDIN_BYTES: Final = 1 << 20


def add_question(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("question")
    group.add_argument(
        "question",
        nargs="*",
        metavar="QUESTION",
        help="PRINCIPAL OPERATION TYPE:NAME, or an audit line in quotes (- reads it from stdin)",
    )
    group.add_argument("--principal", "--allow-principal", metavar="TYPE:NAME")
    group.add_argument("--operation", metavar="NAME", help="in upper or lower case")
    add_resources(group)
    group.add_argument(
        "--host",
        "--allow-host",
        metavar="ADDRESS",
        help="the client's address (default: an address not named in an ACL)",
    )
    listed = parser.add_argument_group("checklist: every permission that Kafka checks")
    listed.add_argument(
        "--producer",
        action="store_true",
        help="for a producer (transactional with --transactional-id)",
    )
    listed.add_argument(
        "--consumer", action="store_true", help="for a consumer (in a group with --group)"
    )
    listed.add_argument("--api", metavar="NAME", help="for one request, such as Produce")
    many = parser.add_argument_group("many questions")
    many.add_argument(
        "--audit", metavar="FILE", help="audit lines of Kafka, grouped by question (- is stdin)"
    )
    many.add_argument(
        "--requests", metavar="FILE", help="JSON lines with the keys of --json (- is stdin)"
    )


def read_question(arguments: Namespace) -> ParsedQuestion:
    """The question of ``arguments``; ``InvalidRequest`` if there is none."""
    words: list[str] = arguments.question
    audit_line = _standard_input() if words == ["-"] else _pasted(words, arguments.operation)
    if audit_line is not None:
        return _read_pasted(audit_line)
    named = resources(arguments)
    principal = arguments.principal or _next(words, 0)
    taken = 0 if arguments.principal else 1
    operation = arguments.operation or _next(words, taken)
    taken += 0 if arguments.operation else 1
    if len(words) > taken + 1:
        raise _surplus(words, taken + 1, arguments)
    if principal is None or operation is None:
        raise _incomplete("principal" if principal is None else "operation", arguments)
    if ":" in operation:
        raise InvalidRequest(f"{operation!r} is not an operation; {FORM}")
    if len(words) > taken:
        if named:
            raise InvalidRequest(
                f"ask about one resource: leave out {words[taken]}, or the option that names one"
            )
        named.append(parse_resource(words[taken]))
    if not named:
        raise InvalidRequest(f"the question names no resource; {FORM}")
    if len(named) > 1:
        raise InvalidRequest("a question is about one resource; ask about each resource separately")
    return parsed_question(principal, operation, named[0], arguments.host)


def _surplus(words: Sequence[str], taken: int, arguments: Namespace) -> InvalidRequest:
    options = [f"--{name}" for name in ("principal", "operation") if getattr(arguments, name)]
    if options:
        typed = " ".join(words)
        return InvalidRequest(f"with {' and '.join(options)}, {typed!r} has too many words; {FORM}")
    return InvalidRequest(f"{words[taken]!r} is one word too many; {FORM}")


def _incomplete(lacking: str, arguments: Namespace) -> InvalidRequest:
    is_begun = arguments.question or arguments.principal or arguments.operation
    return InvalidRequest(f"the question names no {lacking}; {FORM}" if is_begun else FORM)


def read_principal_and_resources(
    arguments: Namespace,
) -> tuple[str, list[tuple[ResourceType, str]]]:
    words: list[str] = arguments.question
    principal = arguments.principal or _next(words, 0)
    if principal is None:
        raise InvalidRequest("a checklist needs a principal, as in: User:app --producer --topic t")
    rest = words[0 if arguments.principal else 1 :]
    for text in (principal, *rest):
        refuse_lone_surrogates(text)
    return str(parse_principal(principal)), resources(arguments) + list(map(parse_resource, rest))


def parsed_question(
    principal: str, operation: str, resource: tuple[ResourceType, str], host: str | None
) -> ParsedQuestion:
    """The question in these words."""
    resource_type, name = resource
    for text in (principal, name, host or ""):
        refuse_lone_surrogates(text)
    java_host = as_java_writes(host)
    question = Question(
        str(parse_principal(principal)), parse_operation(operation), resource_type, name, java_host
    )
    return ParsedQuestion(question, host_as_typed=host if host != java_host else None)


def refuse_lone_surrogates(text: str) -> None:
    """Raise ``InvalidRequest`` if the text has a lone surrogate, which no name in Kafka has.
    Python reads each byte of an argument that is not UTF-8 as a lone surrogate."""
    if has_lone_surrogate(text):
        raise InvalidRequest(f"{text!r} is not Unicode; is the terminal's encoding not UTF-8?")


def as_java_writes(host: str | None) -> str | None:
    """A client's address as brokers write it and compare it with ACLs."""
    return None if host is None else client_host(host)


def read_audit_line(text: str) -> ParsedQuestion:
    from authorizer.audit.layouts import unwrapped
    from authorizer.audit.line import parse_line

    line = parse_line(unwrapped(text))
    return ParsedQuestion(
        Question(line.principal, line.operation, line.resource_type, line.resource_name, line.host),
        audit=line,
    )


def _read_pasted(text: str) -> ParsedQuestion:
    """Read a line that can have line breaks from a terminal or a ticket."""
    text = text.strip()
    if "Principal = " not in text:
        raise InvalidRequest(
            f"{text[:_CHARACTERS_SHOWN]!r} is not an audit line of Kafka, nor a question; {FORM}"
        )
    if text.count("Principal = ") > 1 and "\n" in text:
        raise InvalidRequest("several audit lines; give them to --audit FILE (- is stdin)")
    line = text.replace("\r", "").replace("\n", "")
    return read_audit_line(line)._replace(had_line_breaks="\n" in text, moment=_moment(line))


def _moment(line: str) -> str | None:
    """The line's time as a value for ``--at``. A time without a zone counts as UTC."""
    from authorizer.audit.layouts import Zone, read_entry
    from metalog_sources.moment import time_text

    try:
        return time_text(read_entry(line, Zone("UTC")).micros // 1000)
    except InvalidRequest:
        return None


def _standard_input() -> str:
    data = sys.stdin.buffer.read(_MOST_STDIN_BYTES + 1)
    if len(data) > _MOST_STDIN_BYTES:
        raise InvalidRequest(
            f"stdin has more than {_MOST_STDIN_BYTES >> 20} MiB, too much for one audit line; "
            "for several lines, use --audit -"
        )
    return text_of(data)


def text_of(line: bytes) -> str:
    """Raise ``InvalidRequest`` if the line is not UTF-8, because a name could be misread."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"byte {error.start} is not UTF-8; save the line as UTF-8") from None


_REQUEST_KEYS: Final = ("principal", "operation", "resourceType", "resourceName", "host")
_KEYS_IN_LOWER_CASE: Final = {key.lower(): key for key in _REQUEST_KEYS}


def read_request(request: Mapping[str, Any]) -> ParsedQuestion:
    """The question in a JSON object with the keys of ``--json``. Other keys are ignored.

    Raises:
        InvalidRequest: the object is not a question, or the case of a key is wrong.
    """
    # If ``Host`` were ignored, the question would have no host.
    for key in request.keys() - set(_REQUEST_KEYS):
        if (right_key := _KEYS_IN_LOWER_CASE.get(key.lower())) is not None:
            raise InvalidRequest(f"unknown key {key!r}: write {right_key}")
    for key in ("principal", "operation", "resourceType"):
        if not isinstance(request.get(key), str):
            raise InvalidRequest(f"no {key}" if key not in request else f"{key} is not a string")
    resource_type = read_word(ResourceType, request["resourceType"], "resourceType")
    default_name = CLUSTER_NAME if resource_type is ResourceType.CLUSTER else None
    name, host = request.get("resourceName", default_name), request.get("host")
    if not isinstance(name, str):
        raise InvalidRequest("no resourceName" if name is None else "resourceName is not a string")
    if not isinstance(host, str | None):
        raise InvalidRequest("host is neither a string nor null")
    return parsed_question(request["principal"], request["operation"], (resource_type, name), host)


def _pasted(words: list[str], operation: str | None) -> str | None:
    """The audit line in ``words``, with or without quotes around it; None for a question."""
    if operation is None and len(words) == 1 and (" " in words[0] or ":" not in words[0]):
        return words[0]
    if len(words) > 3 and "=" in words:
        return " ".join(words)
    return None


def _next(words: list[str], position: int) -> str | None:
    return words[position] if position < len(words) else None
