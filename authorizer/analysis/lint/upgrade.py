"""Checks for ACLs that another version of Kafka interprets differently."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from authorizer.analysis.changes.upgrade import UpgradeEffect, upgrade
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
            f"An ACL that Kafka {to.value} interprets differently.",
            partial(_effects, to),
        )
    ]
    if to.matches_blocks:
        checks.append(
            Check(
                "upgrade-refuses",
                f"An ACL that Kafka {to.value} would refuse to create again.",
                _refused,
            )
        )
    return checks


def _effects(to: KafkaVersion, subject: LintSubject) -> Iterator[Finding]:
    found = upgrade(subject.acls, subject.config, to)
    does = "starts to match" if to.matches_blocks else "stops matching"
    for acl, effects in found.effects.items():
        if effects:
            yield Finding(Severity.ERROR, f"{does}: {_text(effects)}", acl, effects=effects)
        elif found.is_whole:
            yield Finding(Severity.INFO, f"{does}, but changes no answer", acl)
    if not found.is_whole:
        yield Finding(
            Severity.ERROR,
            "they have too many different names and hosts, so the upgrade was not checked",
            name="the ACLs",
        )


def _text(effects: tuple[UpgradeEffect, ...]) -> str:
    more = len(effects) - _SHOWN
    text = "; ".join(map(_effect_text, effects[:_SHOWN]))
    return f"{text}; and {more:,} more such" if more > 0 else text


def _effect_text(effect: UpgradeEffect) -> str:
    who = effect.principal or "everyone else"
    name, is_literal = effect.names
    prefixed = f"names that begin with {name}" if name else "any name"
    on = name if is_literal else prefixed
    does = " and ".join(
        f"{word} {_operations(operations)}"
        for word, operations in (("gains", effect.gains), ("loses", effect.loses))
        if operations
    )
    return f"{who} {does} on {on} from {effect.region}, such as {effect.witness.host}"


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
