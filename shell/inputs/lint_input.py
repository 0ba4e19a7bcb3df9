"""Reads the input of ``lint``: the state of a SOURCE, and the positions of ACLs in its files.

This module must not know what any check looks for.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

from authorizer.analysis.lint.finding import LintNotes, LintSubject
from metalog.ids import uuid_text
from metalog_sources.targets.ownership import acls_outside, outside_text, overlap_text, owned_twice
from metalog_sources.targets.target import KafkaTarget, likely_kafka
from shell.context import context_over, opened_source, read_config, replayed_source, state_document
from shell.tasks.command_target import CommandTarget

if TYPE_CHECKING:
    from authorizer.analysis.lint.finding import Finding
    from authorizer.config import AuthorizerConfig
    from metalog.acl import Acl
    from metalog.image.state.acls import AclsImage
    from metalog_sources.formats.document import Document, FilePosition
    from metalog_sources.source import Source
    from shell.output.output import Output

_YAML = (".yaml", ".yml")


class LintInput(NamedTuple):
    """The input of ``lint``.

    ``positions`` says where in the files to fix an ACL. ``named_positions`` has the positions of
    entries of the list ``owns`` that overlap, by the finding's name. ``acls`` are a log's ACLs.
    """

    subject: LintSubject
    positions: Mapping[Acl, FilePosition]
    acls: AclsImage | None
    target: CommandTarget
    named_positions: Mapping[str, FilePosition] = {}
    metadata_version: int | None = None
    is_kafka_assumed: bool = False

    def position_of(self, finding: Finding) -> FilePosition | None:
        """Where to fix ``finding`` in a file; None without a file."""
        if finding.acl is None:
            return self.named_positions.get(finding.name)
        return self.positions.get(finding.acl)

    def ids(self, acl: Acl) -> list[str]:
        return [] if self.acls is None else [uuid_text(each) for each in self.acls.ids(acl)]


def read_lint_input(arguments: Namespace, output: Output) -> LintInput:
    source = opened_source(arguments, output)
    context = read_config(arguments, source, output)
    if source.store is not None and arguments.at is None and not arguments.committed:
        document = state_document(source.store.state(), arguments, output)
        hosts = (acl.host for acl in document.acls)
        context = context.with_kafka(likely_kafka(source.opened), hosts)
        lint_input = _of_store(source, document, context.config)
        level = None
        if isinstance(source.store, KafkaTarget):
            level = source.store.acl_versions().metadata_version
        is_assumed = context.is_kafka_assumed
        return lint_input._replace(metadata_version=level, is_kafka_assumed=is_assumed)
    image = replayed_source(arguments, output, source).image
    context = context_over(context, source, image)
    acls = list(image.acls.by_id.values())
    subject = LintSubject(
        tuple(dict.fromkeys(acls)),
        context.config,
        _today(),
        _repetitions(acls),
        is_log=True,
        topics=image.topics.by_name.keys(),
        users={user for users in image.scram.mechanisms.values() for user in users},
    )
    return LintInput(
        subject,
        {},
        image.acls,
        CommandTarget.of(source),
        metadata_version=image.features.metadata_version,
        is_kafka_assumed=context.is_kafka_assumed,
    )


def _of_store(source: Source, document: Document, config: AuthorizerConfig) -> LintInput:
    first = {entry.acl: entry for entry in reversed(document.entries)}
    entries = list(reversed(first.values()))
    outside = acls_outside(document)
    twice = [(overlap.second.position, overlap_text(overlap)) for overlap in owned_twice(document)]
    subject = LintSubject(
        tuple(entry.acl for entry in entries),
        config,
        _today(),
        _repetitions([entry.acl for entry in document.entries]),
        users={user.user for user in document.users},
        notes={entry.acl: LintNotes(entry.notes.owner, entry.notes.expires) for entry in entries}
        if _has_notes(source, document)
        else None,
        outside=None
        if not document.owns_entries
        else {each.entry.acl: outside_text(each.owner) for each in reversed(outside)},
        owned_twice=[(str(position), why) for position, why in twice],
    )
    positions = {each.acl: each.position for each in entries if each.position}
    positions |= {
        each.entry.acl: each.entry.position for each in reversed(outside) if each.entry.position
    }
    named = {str(position): position for position, _ in twice if position}
    return LintInput(subject, positions, None, CommandTarget.of(source), named)


def _has_notes(source: Source, document: Document) -> bool:
    is_yaml = source.kind == "files" or source.describe.endswith(_YAML)
    return is_yaml or any(any(entry.notes) for entry in document.entries)


def _repetitions(acls: list[Acl]) -> dict[Acl, int]:
    if len(set(acls)) == len(acls):
        return {}
    return {acl: times for acl, times in Counter(acls).items() if times > 1}


def _today() -> date:
    return datetime.now(UTC).date()
