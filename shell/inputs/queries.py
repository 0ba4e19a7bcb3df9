"""Builds ``Queries`` for a verb, from its SOURCE and its configuration.

This module must not know which questions are asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from authorizer.engine.decide import DEFAULT_ALLOW, SUPER_USER
from authorizer.trace import Question
from metalog.text.visible_text import shown
from shell.context import (
    context_over,
    opened_source,
    read_config,
    refuse_doubts_of,
    replayed_source,
)
from shell.tasks.broker.broker_context import ALLOW_EVERYONE_KEY, SUPER_USERS_KEY, Context
from shell.tasks.queries import Queries

if TYPE_CHECKING:
    from argparse import Namespace

    from authorizer.audit.line import AuditLine
    from metalog_sources.record_notes import RecordNotes
    from metalog_sources.replay import Replayed
    from metalog_sources.source import Source
    from shell.output.output import Output


def queries_of(
    arguments: Namespace,
    output: Output,
    lines: Sequence[AuditLine] = (),
    questions: Iterable[Question] | None = None,
    check_names_of: Collection[Question] = (),
    *,
    is_whole: bool = False,
    notes: RecordNotes | None = None,
) -> Queries:
    """The queries on SOURCE. From a store, only the ACLs for ``questions`` are read (None: all).

    Settings that the audit ``lines`` show replace assumed settings. ``for_questions`` explains
    ``check_names_of``; ``replayed_source`` explains ``is_whole`` and ``notes``.
    """
    opened = source = opened_source(arguments, output)
    context = read_config(arguments, source, output, decides=True)
    if lines:
        context = context_of_lines(context, lines, output)
    if questions is not None:
        from shell.tasks.narrow_source import for_questions

        source = for_questions(source, questions, context.config.super_users, check_names_of)
    replayed = replayed_source(
        arguments, output, source, allows_doubts=True, is_whole=is_whole, notes=notes
    )
    return queries_over(replayed, opened, context, arguments, output)


def queries_over(
    replayed: Replayed, source: Source, context: Context, arguments: Namespace, output: Output
) -> Queries:
    """The queries on ``replayed``, the state of ``source``."""
    context = context_over(context, source, replayed.image)
    return Queries(replayed, context, cache(lambda: refuse_doubts_of(replayed, arguments, output)))


def context_of_lines(context: Context, lines: Iterable[AuditLine], output: Output) -> Context:
    found, notes, warnings = settings_of_lines(context, lines)
    for note in notes:
        output.note(note)
    for warning in warnings:
        output.warn(warning)
    return found


class LineSettings(NamedTuple):
    """``notes`` name the new settings of ``context``. ``warnings`` report differences from the
    configuration."""

    context: Context
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def settings_of_lines(context: Context, lines: Iterable[AuditLine]) -> LineSettings:
    """Replace assumed settings with the settings that the rules of ``lines`` show: super users, and
    ``allow.everyone.if.no.acl.found``."""
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
            notes.extend(
                f"{shown(user)}: a super user, because its line has the rule SuperUser"
                for user in sorted(super_users)
            )
            setting = f"{key}={';'.join(sorted(super_users))}"
        elif key == ALLOW_EVERYONE_KEY and allow_everyone:
            config = config._replace(allow_everyone=True)
            notes.append(f"{key}=true, because the line has the rule DefaultAllow")
            setting = f"{key}=true"
        assumed.append(setting)
    for principal in sorted(super_users - config.super_users):
        differences.append(
            f"{shown(principal)} was a super user at the broker, and is not one here"
        )
    for principal in sorted(others & config.super_users):
        differences.append(
            f"{shown(principal)} is a super user here, and was not one at the broker"
        )
    if allow_everyone and not config.allow_everyone:
        differences.append(f"{ALLOW_EVERYONE_KEY} was true at the broker, and is false here")
    how = "the configuration differs from that of the broker that wrote the line"
    warnings = tuple(f"{how}: {setting}" for setting in differences)
    return LineSettings(
        context._replace(config=config, assumed=tuple(assumed)), tuple(notes), warnings
    )
