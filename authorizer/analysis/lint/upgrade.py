"""ACLs that another version of Kafka interprets differently."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from authorizer.analysis.cells.enumeration import MOST_CELLS
from authorizer.analysis.changes.upgrade import TurnedAnswer, upgrade
from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.kafka_version import KafkaVersion
from metalog.acl import Operation
from metalog.hosts.host_block import read_block

_SHOWN = 3


def upgrade_checks(to: KafkaVersion) -> list[Check]:
    """The checks of ``metalog lint --for``."""
    checks = [
        Check(
            "upgrade-turns",
            f"Because of it Kafka {to.value} gives other answers.",
            partial(_turning, to),
        )
    ]
    if to.matches_blocks:
        checks.append(
            Check(
                "upgrade-refuses",
                f"Kafka {to.value} would refuse to create it again.",
                _refused,
            )
        )
    return checks


def _turning(to: KafkaVersion, subject: LintSubject) -> Iterator[Finding]:
    found = upgrade(subject.acls, subject.config, to)
    does = "starts to match" if to.matches_blocks else "stops matching"
    for acl, turned in found.turned.items():
        if turned:
            yield Finding(Severity.ERROR, f"{does}: {_text(turned)}", acl, turned=turned)
        elif found.is_whole:
            yield Finding(Severity.INFO, f"{does}, but changes no answer", acl)
    if not found.is_whole:
        yield Finding(
            Severity.ERROR,
            f"they need more than {MOST_CELLS:,} cells: which answers change was not checked",
            name="the ACLs",
        )


def _text(turned: tuple[TurnedAnswer, ...]) -> str:
    more = len(turned) - _SHOWN
    text = "; ".join(map(_one, turned[:_SHOWN]))
    return f"{text}; and {more:,} more such" if more > 0 else text


def _one(turned: TurnedAnswer) -> str:
    who = turned.principal or "everyone else"
    name, is_literal = turned.names
    prefixed = f"names that begin with {name}" if name else "any name"
    on = name if is_literal else prefixed
    does = " and ".join(
        f"{word} {_operations(operations)}"
        for word, operations in (("gains", turned.gains), ("loses", turned.loses))
        if operations
    )
    return f"{who} {does} on {on} from {turned.region}, such as {turned.witness.host}"


def _operations(operations: frozenset[Operation]) -> str:
    return ", ".join(each.name for each in sorted(operations))


def _refused(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if not acl.host:
            yield Finding(Severity.WARNING, "its host is empty", acl, remove=(acl,))
        elif "/" in acl.host and isinstance(why := read_block(acl.host), str):
            yield Finding(
                Severity.WARNING, f"its host is not a CIDR block: {why}", acl, remove=(acl,)
            )
