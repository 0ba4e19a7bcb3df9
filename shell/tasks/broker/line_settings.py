"""Settings of a broker that its audit lines show.

The rule on a line shows whether the line's principal was a super user. The rule DefaultAllow shows
that ``allow.everyone.if.no.acl.found`` was true. These settings replace assumed settings.
Differences from a given configuration are reported. This module must not know what is decided.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from authorizer.engine.decide import DEFAULT_ALLOW, SUPER_USER
from metalog.text.visible_text import shown
from shell.tasks.broker.broker_context import ALLOW_EVERYONE_KEY, SUPER_USERS_KEY, Context

if TYPE_CHECKING:
    from authorizer.audit.line import AuditLine


class LineSettings(NamedTuple):
    """The ``context`` in which the lines' settings replace assumed settings; ``notes`` name them.
    ``warnings`` report differences from the configuration."""

    context: Context
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def settings_of_lines(context: Context, lines: Iterable[AuditLine]) -> LineSettings:
    """The settings that ``lines`` show."""
    notes: list[str] = []
    differences: list[str] = []
    super_users: set[str] = set()
    others: set[str] = set()
    allow_everyone = False
    for line in lines:
        if line.rule is not None:
            (super_users if line.rule == SUPER_USER else others).add(line.principal)
            allow_everyone = allow_everyone or line.rule == DEFAULT_ALLOW
    config = context.config
    assumed = []
    for setting in context.assumed:
        key = setting.partition("=")[0]
        if key == SUPER_USERS_KEY and super_users:
            config = config._replace(super_users=config.super_users | super_users)
            listed = ", ".join(map(shown, sorted(super_users)))
            notes.append(f"{listed}: a super user, because the line has the rule SuperUser")
            setting = f"{key}={';'.join(sorted(super_users))}"
        elif key == ALLOW_EVERYONE_KEY and allow_everyone:
            config = config._replace(allow_everyone=True)
            notes.append(f"{key}=true, because the line has the rule DefaultAllow")
            setting = f"{key}=true"
        assumed.append(setting)
    for principal in sorted(super_users - config.super_users):
        differences.append(f"{shown(principal)} was a super user there, and is not one here")
    for principal in sorted(others & config.super_users):
        differences.append(f"{shown(principal)} is a super user here, and was not one there")
    if allow_everyone and not config.allow_everyone:
        differences.append(f"{ALLOW_EVERYONE_KEY} was true there, and is false here")
    how = "the configuration differs from that of the broker that wrote the line"
    warnings = tuple(f"{how}: {setting}" for setting in differences)
    return LineSettings(
        context._replace(config=config, assumed=tuple(assumed)), tuple(notes), warnings
    )
