"""Builds ``Queries`` for a verb, from its SOURCE and its configuration.

This module must not know which questions are asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from authorizer.trace import Question
from shell.context import (
    context_over,
    opened_source,
    read_config,
    refuse_doubts_of,
    replayed_source,
)

if TYPE_CHECKING:
    from argparse import Namespace

    from authorizer.audit.line import AuditLine
    from metalog_sources.record_notes import RecordNotes
    from metalog_sources.replay import Replayed
    from metalog_sources.source import Source
    from shell.output.output import Output
    from shell.tasks.broker.broker_context import Context
from shell.tasks.queries import Queries


def queries_of(
    arguments: Namespace,
    output: Output,
    lines: Sequence[AuditLine] = (),
    questions: Iterable[Question] | None = None,
    pointed_out: Collection[Question] = (),
    *,
    is_whole: bool = False,
    notes: RecordNotes | None = None,
) -> Queries:
    """The queries on a verb's SOURCE and configuration.

    With ``questions``, ``tasks.narrow_source.for_questions`` chooses the part of a store to read.
    Audit ``lines`` replace assumed settings of the configuration. ``is_whole`` reads all subjects
    of the image. ``notes`` gets the log's records.
    """
    opened = source = opened_source(arguments, output)
    context = read_config(arguments, source, output, decides=True)
    if lines:
        context = context_of_lines(context, lines, output)
    if questions is not None:
        from shell.tasks.narrow_source import for_questions

        source = for_questions(source, questions, context.config.super_users, pointed_out)
    replayed = replayed_source(
        arguments, output, source, shows=True, is_whole=is_whole, notes=notes
    )
    return queries_over(replayed, opened, context, arguments, output)


def queries_over(
    replayed: Replayed, source: Source, context: Context, arguments: Namespace, output: Output
) -> Queries:
    """The queries on ``replayed``, the replayed state of ``source``."""
    context = context_over(context, source, replayed.image)
    return Queries(replayed, context, cache(lambda: refuse_doubts_of(replayed, arguments, output)))


def context_of_lines(context: Context, lines: Iterable[AuditLine], output: Output) -> Context:
    """The ``context`` in which settings from the audit ``lines`` replace assumed settings."""
    from shell.tasks.broker.line_settings import settings_of_lines

    found, notes, warnings = settings_of_lines(context, lines)
    for note in notes:
        output.note(note)
    for warning in warnings:
        output.warn(warning)
    return found
