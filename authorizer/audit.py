"""The audit line: Kafka's text of one decision, written and read.

Written: byte for byte what Kafka 4.3 logs, except that characters which end a line
somewhere (CR, LF, VT, FF, NUL, U+0085, U+2028, U+2029) appear as escapes, so that a
hostile name cannot forge a line. Read: that format, StandardAuthorizer's before it,
AclAuthorizer's and SimpleAclAuthorizer's, behind whatever prefix a log layout put
there. Kafka escapes nothing: where a name makes a line readable in two ways, the
line is flagged.

This module must not know files, nor how a decision is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple, TypeVar

from authorizer.api import Action, RequestContext
from authorizer.decide import ALLOWED, DENIED, AuthorizationResult, Decision
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidRequest

LOGGER: Final = "kafka.authorizer.logger"
TRACE: Final = 5
"""A level below ``logging.DEBUG``, for answers that grant or refuse nothing by themselves."""

_ESCAPES: Final = str.maketrans(
    {
        "\r": "\\r",
        "\n": "\\n",
        "\v": "\\u000b",
        "\f": "\\f",
        "\0": "\\u0000",
        "\x85": "\\u0085",
        "\u2028": "\\u2028",
        "\u2029": "\\u2029",
    }
)


def format_line(context: RequestContext, action: Action, decision: Decision) -> str:
    """What Kafka logs about ``decision``."""
    resource = action.resource
    line = (
        f"Principal = {context.principal}"
        f" is {'Allowed' if decision.result is ALLOWED else 'Denied'}"
        f" operation = {action.operation.name} from host = {context.host}"
        f" on resource = {_pascal(resource.resource_type)}"
        f":{resource.pattern_type.name}:{resource.name}"
        f" for request = {context.request_name}"
        f" with resourceRefCount = {action.resource_reference_count}"
        f" based on rule {format_rule(decision)}"
    )
    return line.translate(_ESCAPES)


def format_rule(decision: Decision) -> str:
    acl = decision.acl
    if acl is None:
        return decision.rule
    return (
        f"{decision.rule}(acl=StandardAcl[resourceType={acl.resource_type.name}"
        f", resourceName={acl.resource_name}, patternType={acl.pattern_type.name}"
        f", principal={acl.principal}, host={acl.host}"
        f", operation={acl.operation.name}, permissionType={acl.permission_type.name}])"
    )


class AuditLine(NamedTuple):
    """What a line says.

    ``request_name`` and ``resource_reference_count`` are None in lines of Kafka before
    2.4, ``rule`` and ``acl`` before StandardAuthorizer. ``ambiguous``: a name holds what
    could also be a part of the line, and this is the likelier reading.
    """

    principal: str
    result: AuthorizationResult
    operation: Operation
    host: str
    resource_type: ResourceType
    resource_name: str
    request_name: str | None = None
    resource_reference_count: int | None = None
    rule: str | None = None
    acl: Acl | None = None
    pattern_type: PatternType = PatternType.LITERAL
    ambiguous: bool = False


_LAYOUT_END: Final = f" ({LOGGER})"
"""What the layout of Kafka's own logging configuration, ``[%d] %p %m (%c)%n``, puts at the end."""
_HEAD: Final = re.compile(r"Principal = ")
_VERDICT: Final = re.compile(
    r" is (?P<result>Allowed|Denied) [Oo]peration = (?P<operation>[A-Za-z_]+)"
    r" from host = (?P<host>[^ ]*) on resource = (?P<type>[A-Za-z_]+):"
)
_TAIL: Final = re.compile(
    r" for request = (?P<request>[^ ]*) with resourceRefCount = (?P<count>-?[0-9]+)"
    r"(?: based on rule (?P<rule>SuperUser|DefaultAllow|DefaultDeny|MatchingAcl\(acl=.*))?",
    re.DOTALL,
)
_ACL: Final = re.compile(
    r"MatchingAcl\(acl=StandardAcl[\[(]resourceType=(?P<type>[A-Z_]+), resourceName=(?P<name>.*),"
    r" patternType=(?P<pattern>[A-Z_]+), principal=(?P<principal>.*), host=(?P<host>.*),"
    r" operation=(?P<operation>[A-Z_]+), permissionType=(?P<permission>[A-Z_]+)[\])]\)",
    re.DOTALL,
)
_PATTERN: Final = re.compile(r"(LITERAL|PREFIXED):")


def parse_line(text: str) -> AuditLine:
    """What one line of an audit log says, whichever Kafka wrote it; else ``InvalidRequest``.

    A CR at the end belongs to the file; any other that the line holds is part of a name.
    """
    text = text.removesuffix("\n").removesuffix("\r").removesuffix(_LAYOUT_END)
    readings = list(_readings(text))
    if not readings:
        raise InvalidRequest(
            "no audit line of Kafka: it has no "
            "'Principal = … is Allowed|Denied operation = … from host = … on resource = …'"
        )
    best = readings[0]
    return best._replace(ambiguous=best.ambiguous or any(other != best for other in readings[1:]))


def _readings(text: str) -> Iterator[AuditLine]:
    """Every way to read ``text``, the likeliest first: a name seldom holds a line's words."""
    heads = list(_HEAD.finditer(text))
    for head in heads[:1]:
        for verdict in _VERDICT.finditer(text, head.end()):
            principal = text[head.end() : verdict.start()]
            yield from _with_resource(principal, verdict, text[verdict.end() :], len(heads) > 1)


def _with_resource(
    principal: str, verdict: re.Match[str], rest: str, doubtful: bool
) -> Iterator[AuditLine]:
    operation = _member(Operation, verdict["operation"])
    resource_type = _member(ResourceType, verdict["type"])
    if operation is None or resource_type is None:
        return
    line = AuditLine(
        principal,
        ALLOWED if verdict["result"] == "Allowed" else DENIED,
        operation,
        verdict["host"],
        resource_type,
        "",
        ambiguous=doubtful,
    )
    tails = [tail for tail in _TAIL.finditer(rest) if tail.end() == len(rest)]
    for tail in tails:
        name = rest[: tail.start()]
        rule, acl = _rule(tail["rule"])
        for pattern_type, resource_name in _resource(name, tail is not None):
            yield line._replace(
                resource_name=resource_name,
                pattern_type=pattern_type,
                request_name=tail["request"],
                resource_reference_count=int(tail["count"]),
                rule=rule,
                acl=acl,
            )
    if not tails:
        for pattern_type, resource_name in _resource(rest, False):
            yield line._replace(resource_name=resource_name, pattern_type=pattern_type)


def _resource(text: str, modern: bool) -> Iterator[tuple[PatternType, str]]:
    pattern = _PATTERN.match(text)
    if pattern is not None:
        yield PatternType[pattern[1]], text[pattern.end() :]
    elif not modern:
        yield PatternType.LITERAL, text


def _rule(text: str | None) -> tuple[str | None, Acl | None]:
    if text is None or not text.startswith("MatchingAcl"):
        return text, None
    found = _ACL.fullmatch(text)
    if found is None:
        return "MatchingAcl", None
    return "MatchingAcl", Acl(
        ResourceType[found["type"]],
        found["name"],
        PatternType[found["pattern"]],
        found["principal"],
        found["host"],
        Operation[found["operation"]],
        PermissionType[found["permission"]],
    )


E = TypeVar("E", bound=IntEnum)


def _member(kind: type[E], name: str) -> E | None:
    """``DescribeConfigs`` and ``DESCRIBE_CONFIGS`` are the same."""
    plain = name.replace("_", "").upper()
    return next((member for member in kind if member.name.replace("_", "") == plain), None)


def _pascal(member: IntEnum) -> str:
    return "".join(word.capitalize() for word in member.name.split("_"))
