"""Makes the columns ``severity`` and ``remedy`` of findings.

``severity`` is the name of a severity of lint. ``remedy`` is a sentence, or lines of kafka-acls
commands and comments, or null if there is nothing to do. A sentence contains no name of a principal
or resource, so it is safe to print and to paste. This module must not know Spark.
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

TOO_OPEN: Final = (everyone, super_user_like, all_topics)
"""Lint's checks for ALLOWs for too many clients or on too many resources."""


def commands(changes: Iterable[tuple[CommandKind, Acl]]) -> str:
    """The commands for ``changes``, in order, and a comment for each change that no command can
    make. Commands that are unsafe without such a change are left out; the last comment counts them.
    """
    script = kafka_acls_commands(changes)
    comments = [_comment(*change) for change in script.inexpressible]
    if script.held_back:
        left_out = counted(script.held_back, "command")
        comments.append(f"# left out: {left_out}, unsafe without these changes; use metalog apply")
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


def too_open(acls: Iterable[Acl], config: AuthorizerConfig) -> dict[Acl, Severity]:
    """The ACLs that a check of ``TOO_OPEN`` reports, each with its highest severity."""
    subject = LintSubject(tuple(dict.fromkeys(acls)), config, date.min)
    severities: dict[Acl, Severity] = {}
    for check in TOO_OPEN:
        for finding in check.find(subject):
            if finding.acl is not None:
                severities[finding.acl] = max(
                    finding.severity, severities.get(finding.acl, Severity.INFO)
                )
    return severities
