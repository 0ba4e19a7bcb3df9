"""The severity of a finding, and what to do: the columns ``severity`` and ``remedy``.

Severities are lint's, by name. A remedy is kafka-acls commands and comments, one per line, or a
sentence. A sentence contains no name of a principal or resource, so it is safe to print and to
paste. This module must not know Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Final

from authorizer.analysis.lint.finding import LintSubject, Severity
from authorizer.analysis.lint.too_open import all_topics, everyone, super_user_like
from authorizer.analysis.remedies.commands import (
    CommandKind,
    acl_comment,
    kafka_acls_commands,
    why_no_command,
)
from authorizer.analysis.remedies.powers import danger
from authorizer.config import AuthorizerConfig
from authorizer.trace import Question
from metalog.acl import WILDCARD, Acl, PatternType, PermissionType
from metalog.text.plurals import counted

OPENING: Final = (everyone, super_user_like, all_topics)
"""The checks of lint for ACLs that open much."""


def commands(changes: Iterable[tuple[CommandKind, Acl]]) -> str:
    """The commands for ``changes``, in order; then a comment for each change without a command, and
    one that counts the commands left out because of these changes."""
    script = kafka_acls_commands(changes)
    comments = [_comment(*change) for change in script.inexpressible]
    if script.held_back:
        left_out = counted(script.held_back, "command")
        comments.append(f"# left out: {left_out}, unsafe without these; metalog apply can do all")
    return "\n".join([*script.lines, *comments])


def _comment(change: CommandKind, acl: Acl) -> str:
    verb = "add" if change is CommandKind.ADD else "remove"
    advice = "metalog apply" if change is CommandKind.ADD else "metalog apply --prune"
    return f"# cannot {verb} {acl_comment(acl)}: {why_no_command(acl)}; {advice} can"


def danger_of_question(question: Question) -> str | None:
    """The danger if ``question`` is allowed, in words; None for an ordinary grant."""
    principal, operation, kind, name, *_ = question
    return danger(
        Acl(kind, name, PatternType.LITERAL, principal, WILDCARD, operation, PermissionType.ALLOW)
    )


def opening(acls: Iterable[Acl], config: AuthorizerConfig) -> dict[Acl, Severity]:
    """The ACLs that the checks ``OPENING`` report, and the severity of each."""
    subject = LintSubject(tuple(dict.fromkeys(acls)), config, date.min)
    severities: dict[Acl, Severity] = {}
    for check in OPENING:
        for finding in check.find(subject):
            if finding.acl is not None:
                severities[finding.acl] = max(
                    finding.severity, severities.get(finding.acl, Severity.INFO)
                )
    return severities
