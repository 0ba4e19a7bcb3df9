"""Prints an explanation, for a person under pressure.

The answer comes first, then the reason, near misses, and commands. No line is cut, and each command
has its own line, to be copied. This module must not know how the explanation was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from authorizer.analysis.access.host_regions import can_be_a_client
from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.analysis.explain.since import Cause
from authorizer.analysis.explain.unknown_names import Unknown
from authorizer.engine.decide import SUPER_USER
from authorizer.trace import Attribute, Candidate, Question, Standing
from metalog.acl import CLUSTER_NAME, SUPPORTED_OPERATIONS, ResourceType
from metalog.text.plurals import counted, plural
from metalog.text.visible_text import shown
from shell.output.output import Cell, Output
from shell.tasks.acl_words import host_words, resource_kind, result_word, sentence
from shell.tasks.command_target import CommandLine, target_lines
from shell.tasks.questions import ParsedQuestion
from shell.views.acls import permission_cell
from shell.views.remedy_lines import remedy_lines

if TYPE_CHECKING:
    from authorizer.analysis.explain.explain import Explanation
    from authorizer.analysis.explain.near_misses import NearMiss
    from authorizer.trace import Trace
    from shell.tasks.queries import Queries

_USER: Final = "User:"
_GUTTER: Final = 12
_INDENT: Final = " " * _GUTTER
_CANDIDATES_SHOWN: Final = 12
_NEAR_MISSES_SHOWN: Final = 4
_OTHERS_SHOWN: Final = 2

_PARTS: Final = {
    Attribute.PRINCIPAL: "principal",
    Attribute.HOST: "host",
    Attribute.OPERATION: "operation",
    Attribute.PATTERN: "name",
    Attribute.RESOURCE_TYPE: "resource type",
}

_NEAR: Final = {
    NearMissKind.DENY_OVERRIDES: "it matches, but a DENY also matches, and overrides it",
    NearMissKind.HOST_TEXT: "its host is {host} in a spelling that Java never uses, "
    "so it matches nobody",
    NearMissKind.HOST_FAMILY: "its host is the same machine in the other address family",
    NearMissKind.HOST_SCOPE: "its host is the same address with another IPv6 scope",
    NearMissKind.HOST_BLANK: "its host has blanks around it",
    NearMissKind.PRINCIPAL_CASE: "its principal differs in upper and lower case",
    NearMissKind.PRINCIPAL_BLANK: "its principal has blanks around it",
    NearMissKind.PRINCIPAL_TYPE: "its principal has the same name under another type",
    NearMissKind.PRINCIPAL_DN: "its principal is the same distinguished name, spelled differently; "
    "Kafka compares the text",
    NearMissKind.PRINCIPAL_SHORT_NAME: "its principal is the short name of the same subject; "
    "check the principal mapping rules",
    NearMissKind.PRINCIPAL_STAR: "the * in its principal is a plain character; only User:* means "
    "everyone",
    NearMissKind.NAME_CASE: "its name differs in upper and lower case",
    NearMissKind.NAME_BLANK: "its name has blanks around it",
    NearMissKind.LITERAL_STAR: "it is LITERAL, so its * is a plain character; PREFIXED was meant",
    NearMissKind.LITERAL_PREFIX: "it is LITERAL; PREFIXED would reach {name}",
    NearMissKind.PREFIXED_STAR: "it is PREFIXED, so its * is a plain character",
    NearMissKind.PREFIX_ONE_OFF: "its prefix differs by one character",
    NearMissKind.WILDCARD_SKIPS_STAR: "Kafka's * skips all other names that begin with *",
    NearMissKind.HOST_BLOCK_ONE_OFF: "{host} is just outside the ACL's block {acl_host}: in the "
    "other half of the next larger block",
    NearMissKind.HOST_RANGE: "its host is a range; Kafka compares it as text, so it matches nobody",
    NearMissKind.HOST_NAME: "its host is not an IP address, so it matches nobody",
    NearMissKind.PRINCIPAL_TYPO: "its principal differs by one character",
    NearMissKind.NAME_TYPO: "its name differs by one character",
    NearMissKind.OPERATION_NOT_IMPLIED: "{acl_operation} does not imply {operation}",
    NearMissKind.OPERATION: "its operation is {acl_operation}, not {operation}",
    NearMissKind.HOST: "its host is {acl_host}, not {host}",
    NearMissKind.NAME: "only the beginning of its name is the same",
    NearMissKind.RESOURCE_TYPE: "it is on a {acl_kind}, not on a {kind}",
    NearMissKind.PRINCIPAL: "its principal is {acl_principal}",
}


def result_cell(allowed: bool) -> Cell:
    return Cell("ALLOWED", "good") if allowed else Cell("DENIED", "bad")


def differing_answer(parsed: ParsedQuestion, allowed: bool) -> str:
    """The audit line's answer if it differs from ``allowed``, else an empty text."""
    if parsed.audit is None or bool(parsed.audit.result) is allowed:
        return ""
    return "ALLOWED then" if parsed.audit.result else "DENIED then"


def line_remark(parsed: ParsedQuestion) -> str:
    """A remark on an audit line that is cut off, or that a hostile name can have forged."""
    if parsed.audit is None:
        return ""
    if parsed.audit.is_cut:
        return "cut off"
    return "readable in two ways" if parsed.audit.ambiguous else ""


def point_out(
    parsed: ParsedQuestion,
    unknown: Iterable[Unknown],
    allowed: bool,
    output: Output,
    *,
    suggests_at: bool,
) -> None:
    """Print notes by which a person can judge the answer."""
    for note in _notes_on_question(parsed):
        output.note(note)
    if parsed.had_line_breaks:
        output.note("the pasted line was read without its line breaks")
    if parsed.audit is not None and parsed.audit.is_cut:
        output.note("the end of the line is missing, so the line does not say which rule decided")
    elif parsed.audit is not None and parsed.audit.ambiguous:
        output.warn("the line can be read in two ways: perhaps a name in the line is forged")
    then = differing_answer(parsed, allowed)
    if then:
        output.warn(
            f"Kafka said {then.split()[0]} when it wrote the line: the ACLs have changed, or "
            "super.users or allow.everyone.if.no.acl.found differ"
        )
    if parsed.moment is not None and suggests_at:
        output.note(f"for the state at the time of the line: --at {parsed.moment}")
    for name in unknown:
        output.note(str(name))


def _notes_on_question(parsed: ParsedQuestion) -> Iterator[str]:
    question = parsed.question
    if parsed.host_as_typed is not None:
        yield f"brokers write {parsed.host_as_typed} as {question.host}, and compare this text"
    if parsed.audit is not None:
        return
    yield from notes_on_resource(question)
    if not question.principal.startswith(_USER):
        needs = f"{shown(question.principal)} needs a principal.builder.class"
        yield f"Kafka itself names clients {_USER}… only; {needs}"
    yield from notes_on_host(question.host)


def notes_on_resource(question: Question) -> Iterator[str]:
    kind = question.resource_type
    if question.operation not in SUPPORTED_OPERATIONS.get(kind, ()):
        yield f"Kafka never checks {question.operation.name} on a {resource_kind(kind)}"
    if kind is ResourceType.CLUSTER and question.resource_name != CLUSTER_NAME:
        yield f"Kafka's cluster is always called {CLUSTER_NAME}: write cluster, without a name"


def notes_on_host(host: str | None) -> Iterator[str]:
    if host is not None and not can_be_a_client(host):
        yield f"no client has the host {shown(host)}: it is not an IP address, such as 10.0.0.1"


def headline(question: Question, allowed: bool, output: Output) -> str:
    answer = output.paint(*result_cell(allowed))
    principal = output.paint(shown(question.principal), "strong")
    what = f"{question.operation.name} on {resource_text(question)}"
    return f"{answer}  {principal}  {output.paint(what, 'strong')}  from {host_text(question.host)}"


def host_text(host: str | None) -> str:
    return "any host not named in an ACL" if host is None else shown(host)


def resource_text(question: Question) -> str:
    return f"{resource_kind(question.resource_type)} {shown(question.resource_name)}"


def because(question: Question, traced: Trace) -> str:
    decision = traced.decision
    if decision.rule == SUPER_USER:
        return f"{shown(question.principal)} is a super user; Kafka checks no ACLs for it."
    if decision.acl is not None:
        return f"This ACL matches: {sentence(decision.acl)}."
    count = len(traced.candidates)
    if count == 0:
        default = f"allow.everyone.if.no.acl.found is {str(traced.allowed).lower()}"
        return f"No ACL reaches {resource_text(question)}, and {default} ({decision.rule})."
    reach = "One ACL reaches" if count == 1 else counted(count, "ACL reaches", "ACLs reach")
    match = plural(count, "it does not match", "none of them matches")
    return f"{reach} {resource_text(question)}, and {match} ({decision.rule})."


def render(
    explanation: Explanation,
    queries: Queries,
    output: Output,
    *,
    whole: bool,
    checklists: Sequence[str] = (),
) -> None:
    """Print the explanation. For ``checklists`` see ``remedy_lines``."""
    question, traced = explanation.question, explanation.trace
    output.prose(headline(question, traced.allowed, output))
    section("why", [because(question, traced)], output)
    _hosts(explanation, output)
    _near_misses(explanation, queries, output, whole)
    _since(explanation, queries, output)
    _remedies(explanation, queries, output, whole, checklists)
    _candidates(explanation, output, whole)


def section(label: str, lines: Iterable[str], output: Output) -> None:
    output.line()
    gutter = output.paint(label, "name") + " " * (_GUTTER - len(label))
    for line in lines:
        if isinstance(line, CommandLine):
            output.line(gutter + line)
        else:
            below = len(line) - len(line.lstrip())
            output.prose((gutter + line).rstrip(), _GUTTER + below + 2)
        gutter = _INDENT


def _candidates(explanation: Explanation, output: Output, whole: bool) -> None:
    candidates = explanation.trace.candidates
    if not candidates:
        return
    numbered = list(enumerate(candidates, 1))
    kept = numbered if whole else _closest(numbered)
    order = ", in Kafka's order" if len(candidates) > 1 else ""
    resource = resource_text(explanation.question)
    section("considered", [f"the ACLs that reach {resource}{order}:"], output)
    digits = len(str(len(candidates)))
    rows = ([f"{number:>{digits}}", *_candidate_cells(candidate)] for number, candidate in kept)
    output.aligned(rows, indent="  ")
    left_out = len(candidates) - len(kept)
    if left_out:
        output.line(f"  … and {left_out:,} more with more differences (--all)")


def _closest(numbered: list[tuple[int, Candidate]]) -> list[tuple[int, Candidate]]:
    least = sorted(numbered, key=lambda pair: (len(pair[1].mismatches), pair[0]))
    return sorted(least[:_CANDIDATES_SHOWN])


def _candidate_cells(candidate: Candidate) -> list[Cell | str]:
    acl = candidate.acl
    return [
        permission_cell(acl.permission_type),
        Cell(shown(acl.principal), _mismatch_style(candidate, Attribute.PRINCIPAL)),
        Cell(acl.operation.name, _mismatch_style(candidate, Attribute.OPERATION)),
        f"{acl.pattern_type.name} {shown(acl.resource_name)}",
        Cell(host_words(acl.host), _mismatch_style(candidate, Attribute.HOST)),
        _standing(candidate),
    ]


def _mismatch_style(candidate: Candidate, attribute: Attribute) -> str | None:
    return "warn" if attribute in candidate.mismatches else None


def _standing(candidate: Candidate) -> Cell:
    if candidate.standing is Standing.DECIDED:
        return Cell("decides", "strong")
    if candidate.standing is Standing.OVERRIDDEN:
        return Cell("matches, but the DENY overrides it")
    if candidate.standing is Standing.ALSO_MATCHES:
        return Cell("matches too")
    return Cell(
        "other " + ", ".join(_PARTS[attribute] for attribute in candidate.mismatches), "warn"
    )


def _hosts(explanation: Explanation, output: Output) -> None:
    if not explanation.hosts:
        return
    lines = [
        f"{shown(answer.host)}: {result_word(answer.allowed)}, {sentence(answer.acl)}"
        for answer in explanation.hosts
    ]
    section("but from", lines, output)


def _near_misses(explanation: Explanation, queries: Queries, output: Output, whole: bool) -> None:
    near = explanation.near_misses
    kept = near if whole else _nearest(explanation)
    if not kept:
        return
    ids = queries.ids(miss.acl for miss in kept)
    lines = []
    for miss in kept:
        path = f"  /acl/id/{ids[miss.acl]}" if miss.acl in ids else ""
        lines += [sentence(miss.acl) + output.paint(path, "faint")]
        lines += [output.paint(f"  {near_text(miss, explanation.question)}", "warn")]
    if len(near) > len(kept):
        lines.append(f"… and {counted(len(near) - len(kept), 'other')} (--all)")
    section("near miss", lines, output)


def _nearest(explanation: Explanation) -> Sequence[NearMiss]:
    """Near misses that rank before ``OPERATION_NOT_IMPLIED`` are likely mistakes."""
    near, decision = explanation.near_misses, explanation.trace.decision
    if decision.acl is not None and not decision.result:
        return [miss for miss in near if miss.kind is NearMissKind.DENY_OVERRIDES]
    closest = [miss for miss in near if miss.kind.rank < NearMissKind.OPERATION_NOT_IMPLIED.rank]
    if closest or decision.result:
        return closest[:_NEAR_MISSES_SHOWN]
    return [miss for miss in near if miss.kind is not NearMissKind.PRINCIPAL][:_OTHERS_SHOWN]


def near_text(miss: NearMiss, question: Question) -> str:
    return _NEAR[miss.kind].format(
        host=host_text(question.host),
        name=shown(question.resource_name),
        kind=resource_kind(question.resource_type),
        operation=question.operation.name,
        acl_host=shown(miss.acl.host),
        acl_kind=resource_kind(miss.acl.resource_type),
        acl_operation=miss.acl.operation.name,
        acl_principal=shown(miss.acl.principal),
    )


def _since(explanation: Explanation, queries: Queries, output: Output) -> None:
    since = explanation.since
    if since is None or explanation.trace.decision.rule == SUPER_USER:
        return
    if since.acl is None:
        section("since", [f"the start of the log, offset {since.offset:,}"], output)
        return
    did = "added" if since.cause is Cause.ADDED else "removed"
    time = queries.time_of(since.offset)
    when = f"--at {since.at}" + (f", {time}" if time else "")
    lines = [f"{when}, when this was {did}:", f"  {sentence(since.acl)}"]
    section("since", [*lines, f"  --at {since.at - 1} shows the state before"], output)


def _remedies(
    explanation: Explanation,
    queries: Queries,
    output: Output,
    whole: bool,
    checklists: Sequence[str],
) -> None:
    if not explanation.remedies and not explanation.trace.allowed:
        advice = "no narrow change helps: ask about one principal and one operation"
        section("to allow", [advice], output)
    elif explanation.remedies:
        label = "to deny" if explanation.trace.allowed else "to allow"
        remedies, question = explanation.remedies, explanation.question
        target = queries.command_target
        lines = list(
            remedy_lines(remedies, question, target, output, whole=whole, checklists=checklists)
        )
        if any(isinstance(line, CommandLine) for line in lines):
            lines.extend(target_lines(target))
        section(label, lines, output)
