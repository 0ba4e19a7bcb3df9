"""Prints a proof in words: the claim, the witness that breaks it, and how to reverse its decision.

This module must not know how a claim is proven.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from authorizer.analysis.cells.claims import ClaimKind
from authorizer.analysis.explain.unknown_names import Unknown
from authorizer.analysis.remedies.commands import CommandKind, kafka_acls_command
from authorizer.engine.decide import DEFAULT_ALLOW, SUPER_USER
from authorizer.trace import Question
from metalog.acl import Operation, ResourceType
from metalog.text.plurals import counted
from metalog.text.visible_text import safe, shown
from shell.output.output import Cell, Output
from shell.tasks.acl_words import resource_kind, sentence
from shell.tasks.command_target import CommandLine, target_lines
from shell.tasks.proof.proofs import SUPER_USERS, ClaimOutcome, StatedClaim, proofs
from shell.views.explain_commands import explain_command
from shell.views.explanation import because, host_text, resource_text
from shell.views.remedy_lines import command_lines

if TYPE_CHECKING:
    from authorizer.analysis.cells.claim_remedy import ClaimRemedy
    from authorizer.analysis.cells.clients import HostSet
    from authorizer.analysis.cells.names import NamePattern
    from shell.tasks.queries import Queries

_SUPER_USERS: Final = "super users"
_MOST_LOOKED_UP: Final = 100
"""``point_out_unknown`` looks up at most this many principals."""


def claim_text(stated: StatedClaim) -> str:
    """``nobody but User:a may READ topic payments``."""
    names = sorted(stated.principals.names - {SUPER_USERS})
    listed = [shown(name) for name in names]
    if SUPER_USERS in stated.principals.names:
        listed.append(_SUPER_USERS)
    is_all_but = stated.principals.is_excluded
    kind = stated.kind
    if kind is ClaimKind.ONLY:
        subject = f"only {joined(listed, 'and')} may"
    elif kind is ClaimKind.ALLOW:
        others = f"everybody but {joined(listed, 'and')}" if listed else "everybody"
        subject = f"{others if is_all_but else joined(listed, 'and')} may"
    elif is_all_but:
        subject = f"nobody but {joined(listed, 'and')} may" if listed else "nobody may"
    else:
        subject = f"{joined(listed, 'and')} may not"
    is_any = Operation.ALL in stated.operations
    operations = joined([operation.name for operation in stated.operations], "or")
    operations = "do anything on" if is_any else operations
    resources = _resources_text(stated)
    return f"{subject} {operations} {resources}{_hosts_text(stated.hosts)}"


def _resources_text(stated: StatedClaim) -> str:
    excluded = joined([pattern_text(*pattern) for pattern in stated.excluded], "and")
    if len(stated.resources) > 1 and all(not pattern.name for _, pattern in stated.resources[:2]):
        return f"anything but {excluded}" if excluded else "any resource"
    return joined([pattern_text(*pattern) for pattern in stated.resources], "or")


def pattern_text(kind: ResourceType, pattern: NamePattern) -> str:
    """``topics that begin with pii-``."""
    noun = resource_kind(kind)
    if kind is ResourceType.CLUSTER:
        return "the cluster"
    if pattern.is_literal:
        return f"{noun} {shown(pattern.name)}"
    return f"{noun}s that begin with {shown(pattern.name)}" if pattern.name else f"any {noun}"


def _hosts_text(hosts: HostSet) -> str:
    if not hosts.hosts:
        return ""
    listed = joined(sorted(map(shown, hosts.hosts)), "or")
    return f" from outside {listed}" if hosts.is_excluded else f" from {listed}"


def joined(words: list[str], last: str) -> str:
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def print_proofs(
    proved: Iterable[ClaimOutcome], queries: Queries, arguments: Namespace, output: Output
) -> None:
    has_commands = False
    for proof in proved:
        result = Cell("proven", "good") if proof.result.is_proven else Cell("broken", "bad")
        cells = counted(proof.result.cells, "cell")
        comment = proof.stated.comment
        remark = [] if comment is None else [Cell(safe(comment), "faint")]
        output.aligned([[result, Cell(claim_text(proof.stated), "strong"), f"({cells})", *remark]])
        for line in witness_lines(proof, queries, arguments, output):
            output.line(f"  {line}")
        has_commands = has_commands or bool(remedy_commands(proof.remedy))
    for line in target_lines(queries.command_target) if has_commands else ():
        output.line(line)


def witness_lines(
    proof: ClaimOutcome, queries: Queries, arguments: Namespace, output: Output
) -> Iterator[str]:
    """A request that breaks the claim, its ``explain`` command, and its remedy."""
    witness = proof.result.witness
    if witness is None or proof.traced is None:
        return
    yield f"{safe(str(proof.stated.position))}: {witness_text(proof)}"
    yield because(witness.question, proof.traced)
    yield CommandLine(output.paint(explain_command(witness.question, arguments), "faint"))
    yield remedy_text(proof)
    lines = remedy_commands(proof.remedy)
    if lines:
        yield from command_lines(lines, queries.command_target, output, own=False)


def witness_text(proof: ClaimOutcome) -> str:
    witness = proof.result.witness
    assert witness is not None
    question = witness.question
    may = "may" if witness.is_allowed else "may not"
    return (
        f"{shown(question.principal)} {may} {question.operation.name}"
        f" {resource_text(question)} from {host_text(question.host)}"
    )


def broken_text(proof: ClaimOutcome) -> str:
    """The witness with the reason; empty for a proven claim."""
    witness = proof.result.witness
    if witness is None or proof.traced is None:
        return ""
    acl = proof.traced.decision.acl
    by = proof.traced.decision.rule if acl is None else sentence(acl)
    return f"{witness_text(proof)}, by {by}"


def remedy_text(proof: ClaimOutcome) -> str:
    rule = None if proof.traced is None else proof.traced.decision.rule
    change = proof.remedy
    if change is None:
        if rule == SUPER_USER:
            is_only = proof.stated.kind is ClaimKind.ONLY
            how = "add super.users to" if is_only else "write any except [super.users] as"
            return (
                f"a super user may do everything: {how} the claim's principals, or remove the"
                f" user from {SUPER_USERS}"
            )
        return "no ACL that kafka-acls can create reverses this decision"
    parts = [f"remove {counted(len(change.remove), 'ACL')}"] if change.remove else []
    parts += [f"add {counted(len(change.add), 'ACL')}"] if change.add else []
    text = f"to reverse this decision, {' and '.join(parts)}"
    if change.exceeds_claim:
        text += ", which changes more than the claim is about"
    elif rule == DEFAULT_ALLOW:
        text += " (the first on these names), or set allow.everyone.if.no.acl.found=false"
    return text


def remedy_commands(change: ClaimRemedy | None) -> list[str]:
    if change is None:
        return []
    lines = [kafka_acls_command(CommandKind.ADD, acl) for acl in change.add]
    lines += [kafka_acls_command(CommandKind.REMOVE, acl) for acl in change.remove]
    return [] if None in lines else [line for line in lines if line is not None]


def proof_json(proof: ClaimOutcome, queries: Queries, arguments: Namespace) -> dict[str, Any]:
    stated, result = proof.stated, proof.result
    record: dict[str, Any] = {
        "claim": stated.word,
        "message": claim_text(stated),
        "proven": result.is_proven,
        "cells": result.cells,
        "witness": None,
        "file": stated.position.file,
        "line": stated.position.line,
        "column": stated.position.column,
        "comment": stated.comment,
    }
    if result.witness is not None and proof.traced is not None:
        question = result.witness.question
        lines = remedy_commands(proof.remedy)
        record["witness"] = queries.answer_json(question, proof.traced.decision)
        record["explain"] = explain_command(question, arguments)
        record |= queries.command_target.as_json(lines or None)
    return record


def point_out_unknown(claims: Iterable[StatedClaim], queries: Queries, output: Output) -> None:
    """Print a note on each unknown principal of a claim, because most are misspelled."""
    claim_of: dict[str, StatedClaim] = {}
    for stated in claims:
        for principal in sorted(stated.principals.names - {SUPER_USERS}):
            claim_of.setdefault(principal, stated)
    reported: set[Unknown] = set()
    for principal, stated in list(claim_of.items())[:_MOST_LOOKED_UP]:
        kind, pattern = stated.resources[0]
        question = Question(principal, Operation.READ, kind, pattern.name)
        for unknown in queries.unknown(question):
            if unknown.what == "principal" and unknown not in reported:
                reported.add(unknown)
                output.note(f"{stated.position}: {unknown}")


def say_other_proofs(proved: list[ClaimOutcome], queries: Queries, output: Output) -> None:
    """Print a note if no Kafka version is configured and claims differ under the other version."""
    other = queries.of_other_kafka
    if other is None:
        return
    other_proofs = proofs((outcome.stated for outcome in proved), other)
    turned = [
        proof
        for proof, elsewhere in zip(proved, other_proofs, strict=True)
        if proof.result.is_proven is not elsewhere.result.is_proven
    ]
    if turned:
        kafka = queries.context.config.kafka.other.value
        output.note(
            f"under Kafka {kafka} {counted(len(turned), 'claim')} would have the other result, the"
            f" first at {turned[0].stated.position}; --kafka {kafka} decides as that version"
        )
