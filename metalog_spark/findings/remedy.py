"""How severe a finding is, and what to do about it: the columns ``severity`` and ``remedy``.

Severities are lint's, by name. A remedy is kafka-acls' commands, one a line, or where it has
none a sentence or a comment, without names: safe to print and to paste. This module must not
know Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Final

from authorizer.config import AuthorizerConfig
from authorizer.insight.commands import Change, kafka_acls_commands
from authorizer.insight.lint import all_topics, everyone, super_user_like
from authorizer.insight.lint.finding import Severity, Subject
from metalog.acl import Acl

NO_COMMAND: Final = "# kafka-acls has no words for it; metalog apply --prune can"
"""A comment, since it stands among commands."""
_OPENING: Final = (everyone.CHECK, super_user_like.CHECK, all_topics.CHECK)


def commands(changes: Iterable[tuple[Change, Acl]]) -> str:
    """The commands for ``changes``, in their order; ``NO_COMMAND`` at the end where one has
    none."""
    said = kafka_acls_commands(changes)
    return "\n".join([*said.lines, NO_COMMAND] if said.unsayable else said.lines)


def opening(acls: Iterable[Acl], config: AuthorizerConfig) -> dict[Acl, Severity]:
    """The ACLs by which lint finds that too much is open, and how severe it takes that."""
    subject = Subject(tuple(dict.fromkeys(acls)), config, date.min)
    found: dict[Acl, Severity] = {}
    for check in _OPENING:
        for finding in check.find(subject):
            if finding.acl is not None:
                found[finding.acl] = max(finding.severity, found.get(finding.acl, Severity.INFO))
    return found
