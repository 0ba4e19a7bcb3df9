"""Writes and reads the audit line, Kafka's text of one decision.

The writer produces the text of Kafka 4.3, but escapes characters with which a hostile name could
forge or spoil a line: line ends, control characters and lone surrogates, but not the tab.

The reader accepts the formats of StandardAuthorizer, AclAuthorizer and SimpleAclAuthorizer, after
any prefix of a log layout. Kafka escapes nothing, so a line with a hostile name can have several
readings. ``AuditLine.ambiguous`` marks such a line.

This module must not know files, nor how a decision is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from authorizer.api import Action, RequestContext
from authorizer.engine.decide import ALLOWED, DENIED, MATCHING_ACL, AuthorizationResult, Decision
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType, camel
from metalog.errors import InvalidRequest

LOGGER: Final = "kafka.authorizer.logger"
TRACE: Final = 5
"""The level of decisions that an ``Action`` asks not to log."""

_CONTROLS: Final = (*range(0x09), *range(0x0A, 0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
_SURROGATES: Final = range(0xD800, 0xE000)
_ESCAPES: Final = {code: f"\\u{code:04x}" for code in (*_CONTROLS, *_SURROGATES)} | {
    ord("\r"): "\\r",
    ord("\n"): "\\n",
    ord("\f"): "\\f",
}


def source(context: RequestContext) -> dict[str, object]:
    """Extra fields for a ``logging`` handler that limits lines per client."""
    return {"source": (context.principal, context.host)}


def format_line(context: RequestContext, action: Action, decision: Decision) -> str:
    resource = action.resource
    line = (
        f"Principal = {context.principal}"
        f" is {'Allowed' if decision.result is ALLOWED else 'Denied'}"
        f" operation = {action.operation.name} from host = {context.host}"
        f" on resource = {camel(resource.resource_type)}"
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
    """One audit line, parsed.

    - ``request_name`` and ``resource_reference_count`` are None before Kafka 2.4.
    - ``rule`` and ``acl`` are None in lines of AclAuthorizer and SimpleAclAuthorizer. ``acl`` is
      also None if a word of the ACL is unknown.
    - ``ambiguous``: the line has several readings. The fields hold the likeliest one.
    - ``is_cut``: the line ends before or within its rule.
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
    is_cut: bool = False


class Row(NamedTuple):
    """A parsed line without its ACL. Enums are texts such as ``DESCRIBE_CONFIGS``."""

    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str
    pattern_type: str
    request_name: str | None
    resource_reference_count: int | None
    result: str
    rule: str | None
    ambiguous: bool


E = TypeVar("E", bound=Enum)


def by_plain_name(kind: type[E]) -> dict[str, E]:
    """The members by name without ``_``: some versions of Kafka write ``DescribeConfigs``, others
    ``DESCRIBE_CONFIGS``."""
    return {member.name.replace("_", ""): member for member in kind}


_OPERATIONS_BY_NAME: Final = by_plain_name(Operation)
_TYPES_BY_NAME: Final = by_plain_name(ResourceType)
_PATTERNS_BY_NAME: Final = by_plain_name(PatternType)
_PERMISSIONS_BY_NAME: Final = by_plain_name(PermissionType)
_LAYOUT_END: Final = f" ({LOGGER})"
"""The end of a line in Kafka's default layout, ``[%d] %p %m (%c)%n``."""
HEAD: Final = "Principal = "
_HEAD: Final = re.compile(HEAD)
_REST: Final = "… is Allowed|Denied operation = … from host = … on resource = …"
VERDICT: Final = re.compile(
    r" is (?P<result>Allowed|Denied) [Oo]peration = (?P<operation>[A-Za-z_]+)"
    r" from host = (?P<host>[^ ]*) on resource = (?P<type>[A-Za-z_]+):"
)
_TAIL_START: Final = re.compile(r" for request = ")
_TAIL: Final = re.compile(
    r" for request = (?P<request>[^ ]*) with resourceRefCount = (?P<count>-?[0-9]{1,9})(?![0-9])"
    r"(?: based on rule (?P<rule>SuperUser|DefaultAllow|DefaultDeny|MatchingAcl\(acl=.*))?",
    re.DOTALL,
)


def _begun(text: str) -> str:
    """A pattern that matches every prefix of ``text``, also the empty one."""
    return "".join(f"(?:{re.escape(each)}" for each in text) + ")?" * len(text)


_CUT: Final = re.compile(
    rf" f{_begun('or request ')}\Z"
    rf"| for request =(?: [^ ]*)?(?:{_begun(' with resourceRefCount = ')}"
    rf"| with resourceRefCount = -?[0-9]{{1,9}}(?: b{_begun('ased on rule ')}"
    rf"| based on rule (?:{_begun('SuperUse')}|{_begun('DefaultAllo')}|{_begun('DefaultDen')}"
    rf"|{_begun('MatchingAcl(acl')})))\Z"
)
_LAYOUT_BEGUN: Final = re.compile(
    rf"{re.escape(_LAYOUT_END)}| \(k{_begun(_LAYOUT_END.removeprefix(' (k'))}\Z"
)
"""``_LAYOUT_END``, or its beginning at the end of a line."""
_ACL_START: Final = re.compile(
    r"MatchingAcl\(acl=StandardAcl[\[(]resourceType=(?P<type>[A-Z_]+), resourceName="
)
_ACL_ENDS: Final = ("])", "))")
_PATTERNS: Final = ("LITERAL:", "PREFIXED:")
_PATTERN: Final = re.compile(r"(LITERAL|PREFIXED):")
_COMMON: Final = re.compile(
    r"Principal = (.*?) is (Allowed|Denied) [Oo]peration = ([A-Za-z_]+)"
    r" from host = ([^ ]*) on resource = ([A-Za-z_]+):(LITERAL|PREFIXED):(.*?)"
    r" for request = ([^ ]*) with resourceRefCount = ([0-9]{1,9})"
    r" based on rule (?:(SuperUser|DefaultAllow|DefaultDeny)|MatchingAcl\(acl=)",
    re.DOTALL,
)
_SIGN: Final = " = "
_SIGNS: Final = 6
"""The number of `` = `` in a line of Kafka 3.3 or later. A name can contain more."""
_PARTS_TRIED: Final = 16
"""The maximum number of verdicts or tails to read: a hostile name can have thousands."""


def parse_line(text: str) -> AuditLine:
    """Parse an audit line of any version of Kafka. Raises ``InvalidRequest`` for other lines."""
    text = _stripped(text)
    cut = _CUT.search(text)
    if cut is not None:
        line = _likeliest(text[: cut.start()])
        return line._replace(is_cut=not line.ambiguous, ambiguous=True)
    line = _likeliest(text)
    may_be_cut = line.rule == MATCHING_ACL and line.acl is None
    return line._replace(is_cut=may_be_cut and not text.endswith(_ACL_ENDS))


def _stripped(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r").removesuffix(_LAYOUT_END)


def line_readings(text: str) -> Iterator[AuditLine]:
    """The readings of ``text``, which begins with an audit line, the likeliest first."""
    return _readings(_stripped(text))


def unfinished_readings(text: str) -> Iterator[AuditLine]:
    """Readings of ``text`` as the start of a line whose end was lost.

    ``pattern_type`` is PREFIXED: ``resource_name`` is the name's start, or the whole name and
    more text.
    """
    text = _stripped(text)
    head = _HEAD.search(text)
    if head is None:
        return
    known = filter(None, (_with_verdict(head, each) for each in VERDICT.finditer(text)))
    for line, rest in islice(known, _PARTS_TRIED):
        yield line._replace(resource_name=_name_begun(rest), pattern_type=PatternType.PREFIXED)


def _name_begun(rest: str) -> str:
    pattern = _PATTERN.match(rest)
    if pattern is not None:
        return rest[pattern.end() :]
    return "" if any(each.startswith(rest) for each in _PATTERNS) else rest


def _likeliest(text: str) -> AuditLine:
    readings = _readings(text)
    best = next(readings, None)
    if best is None:
        raise _unreadable(text)
    return best._replace(ambiguous=best.ambiguous or any(other != best for other in readings))


def read_row(text: str) -> Row:
    """The result of ``parse_line`` as a row."""
    common = _COMMON.match(text) if text.count(_SIGN) == _SIGNS else None
    if common is not None:
        principal, result, operation, host, kind, pattern, name, request, count, rule = (
            common.groups()
        )
        known_operation, known_kind = OPERATIONS.get(operation), TYPES.get(kind)
        if known_operation is not None and known_kind is not None:
            return Row(
                principal,
                host,
                known_operation,
                known_kind,
                name,
                pattern,
                request,
                int(count),
                "ALLOWED" if result == "Allowed" else "DENIED",
                rule or MATCHING_ACL,
                False,
            )
    return row_of(parse_line(text))


def row_of(line: AuditLine) -> Row:
    return Row(
        line.principal, line.host, line.operation.name, line.resource_type.name,
        line.resource_name, line.pattern_type.name, line.request_name,
        line.resource_reference_count, line.result.name, line.rule, line.ambiguous,
    )  # fmt: skip


def _unreadable(text: str) -> InvalidRequest:
    head = _HEAD.search(text)
    if head is None:
        return InvalidRequest(f"not an audit line of Kafka: it has no '{HEAD}{_REST}'")
    verdict = VERDICT.search(text, head.end())
    if verdict is None:
        return InvalidRequest(f"broken audit line: after '{HEAD}' it has no '{_REST}'")
    if _member(_OPERATIONS_BY_NAME, verdict["operation"]) is None:
        return InvalidRequest(f"the audit line's operation {verdict['operation']} is unknown")
    if _member(_TYPES_BY_NAME, verdict["type"]) is None:
        return InvalidRequest(f"the audit line's resource type {verdict['type']} is unknown")
    return InvalidRequest(
        "the audit line's resource has no pattern type: LITERAL:… or PREFIXED:… was expected"
    )


def _readings(text: str) -> Iterator[AuditLine]:
    """The readings of ``text``, the likeliest first, in limited number (``_PARTS_TRIED``).

    The likeliest reading has the first verdict and the last tail (`` for request = …``). Other
    verdicts and tails are probably in the resource's name, which a client can choose.
    """
    head = _HEAD.search(text)
    if head is None:
        return
    verdicts = list(VERDICT.finditer(text, head.end()))
    is_repeated = len(verdicts) > 1 or _HEAD.search(text, head.end()) is not None
    known = filter(None, (_with_verdict(head, verdict) for verdict in verdicts))
    for line, rest in islice(known, _PARTS_TRIED):
        yield from _with_resource(line._replace(ambiguous=is_repeated), rest)


def _with_verdict(head: re.Match[str], verdict: re.Match[str]) -> tuple[AuditLine, str] | None:
    """A reading up to the resource's name, and the remaining text."""
    operation = _member(_OPERATIONS_BY_NAME, verdict["operation"])
    resource_type = _member(_TYPES_BY_NAME, verdict["type"])
    if operation is None or resource_type is None:
        return None
    principal = verdict.string[head.end() : verdict.start()]
    result = ALLOWED if verdict["result"] == "Allowed" else DENIED
    line = AuditLine(principal, result, operation, verdict["host"], resource_type, "")
    return line, verdict.string[verdict.end() :]


def _with_resource(line: AuditLine, rest: str) -> Iterator[AuditLine]:
    """The readings of ``rest``: a tail at the end, a tail before other text, or no tail, as before
    Kafka 2.4."""
    starts = [match.start() for match in _TAIL_START.finditer(rest)]
    at_end = _last_tails(_TAIL.fullmatch, rest, starts)
    others = _last_tails(_TAIL.match, rest, starts)
    can_lack_tail = not at_end and not any(tail["rule"] for tail in others)
    for tail in {tail.start(): tail for tail in (*at_end, *others)}.values():
        rule, acl = _rule(tail["rule"])
        for pattern_type, name in _resource(rest[: tail.start()], is_modern=True):
            yield line._replace(
                resource_name=name,
                pattern_type=pattern_type,
                request_name=tail["request"],
                resource_reference_count=int(tail["count"]),
                rule=rule,
                acl=acl,
            )
    if can_lack_tail:
        for pattern_type, name in _resource(rest, is_modern=False):
            yield line._replace(resource_name=name, pattern_type=pattern_type)
            if layout := _LAYOUT_BEGUN.search(name):
                yield line._replace(resource_name=name[: layout.start()], pattern_type=pattern_type)


def _last_tails(
    found_at: Callable[[str, int], re.Match[str] | None], rest: str, starts: list[int]
) -> list[re.Match[str]]:
    tails = (found_at(rest, start) for start in reversed(starts))
    return list(islice(filter(None, tails), _PARTS_TRIED))


def _resource(text: str, *, is_modern: bool) -> Iterator[tuple[PatternType, str]]:
    """``LITERAL:name``, or before Kafka 2.0 only the name."""
    pattern = _PATTERN.match(text)
    if pattern is not None:
        yield PatternType[pattern[1]], text[pattern.end() :]
    elif not is_modern:
        yield PatternType.LITERAL, text


def _rule(text: str | None) -> tuple[str | None, Acl | None]:
    if text is None or not text.startswith(MATCHING_ACL):
        return text, None
    return MATCHING_ACL, _acl(text)


def _acl(text: str) -> Acl | None:
    """Read an ACL from its end, because a name can contain text like later fields."""
    start, end = _ACL_START.match(text), max(map(text.rfind, _ACL_ENDS))
    if start is None or end < 0:
        return None
    rest, _, permission_name = text[start.end() : end].rpartition(", permissionType=")
    rest, _, operation_name = rest.rpartition(", operation=")
    rest, _, host = rest.rpartition(", host=")
    rest, _, principal = rest.rpartition(", principal=")
    name, found, pattern_name = rest.rpartition(", patternType=")
    resource_type = _member(_TYPES_BY_NAME, start["type"])
    pattern_type = _member(_PATTERNS_BY_NAME, pattern_name)
    operation = _member(_OPERATIONS_BY_NAME, operation_name)
    permission = _member(_PERMISSIONS_BY_NAME, permission_name)
    if not found or resource_type is None or pattern_type is None:
        return None
    if operation is None or permission is None:
        return None
    return Acl(resource_type, name, pattern_type, principal, host, operation, permission)


def _member(known: Mapping[str, E], name: str) -> E | None:
    return known.get(name.replace("_", "").upper())


OPERATIONS: Final = {name: each.name for each in Operation for name in (each.name, camel(each))}
TYPES: Final = {camel(each): each.name for each in ResourceType}
