"""Builds a verb's input: the replayed source, and the broker's configuration.

This module reports assumptions and the log's faults on stderr. It must not know the verb's
question.
"""

from __future__ import annotations

import os
from argparse import Action, ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidRequest, InvalidSource
from metalog_sources.source_kinds import ANY, NO_HISTORY, SourceKinds
from shell.output.output import Output
from shell.tasks.broker.broker_context import (
    ALLOW_EVERYONE_KEY,
    KAFKA_VERSION_KEY,
    SUPER_USERS_KEY,
    Context,
)

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

    from metalog.config.located_properties import LocatedProperties
    from metalog.image.metadata import MetadataImage
    from metalog.loader import LoadDoubt
    from metalog.ports import Log
    from metalog_sources.formats.document import Document
    from metalog_sources.moment import ResolvedMoment
    from metalog_sources.record_notes import RecordNotes
    from metalog_sources.replay import Replayed
    from metalog_sources.source import Source
    from metalog_sources.store import StoreState

_AUTHORIZER_KEYS: Final = (SUPER_USERS_KEY, ALLOW_EVERYONE_KEY, "authorizer.class.name")
BOOTSTRAP_NOTE: Final = "the log is empty, so the bootstrap records are read instead"
TIME_FORMS: Final = "@MILLIS, -6h (before the last record), or ISO 8601"
MOMENT_FORMS: Final = f"an offset (exclusive), {TIME_FORMS}"


def add_source(parser: ArgumentParser, *, has_at: bool = True, kinds: SourceKinds = ANY) -> None:
    """Add SOURCE and its options."""
    group = parser.add_argument_group("input")
    add_source_argument(group, kinds)
    add_command_config(group)
    if has_at:
        group.add_argument("--at", metavar="MOMENT", help=f"the state at {MOMENT_FORMS}")
    else:
        parser.set_defaults(at=None)
    group.add_argument(
        "--committed",
        action="store_true",
        help="ignore records that are not proven to be committed",
    )
    group.add_argument(
        "--salvage",
        action="store_true",
        help="continue past unreadable or missing records, and list them",
    )


def add_source_argument(
    group: ArgumentParser | _ArgumentGroup,
    kinds: SourceKinds,
    *,
    metavar: str = "SOURCE",
    more: str = "",
) -> Action:
    """Add the argument SOURCE. ``opened_source`` checks the SOURCE's kind."""
    group.set_defaults(kinds=kinds)
    text = f"{kinds}, or @NAME of metalog.toml{more}"
    return group.add_argument("source", metavar=metavar, help=text)


def add_command_config(group: ArgumentParser | _ArgumentGroup) -> None:
    group.add_argument(
        "--command-config",
        metavar="FILE",
        help="a client's settings (client.properties), to reach a cluster",
    )


def add_config(parser: ArgumentParser) -> None:
    """Add the options for the authorizer's settings, which the log does not contain."""
    group = parser.add_argument_group("the broker's configuration, which is not in the log")
    group.add_argument("--config", metavar="FILE", help="the broker's server.properties")
    group.add_argument(
        "--super-users", metavar="USERS", help="super.users, separated by semicolons"
    )
    group.add_argument("--allow-everyone", action=BooleanOptionalAction, help=ALLOW_EVERYONE_KEY)
    group.add_argument(
        "--kafka",
        type=kafka_version,
        metavar="VERSION",
        help="decide as Kafka 4.3 or 4.4 (default: 4.4 if metadata.version is 32 or more)",
    )


def kafka_version(text: str) -> str:
    """``text``, or ``InvalidRequest`` if ``text`` is not a supported version."""
    from authorizer.config import read_kafka_version

    read_kafka_version(text, "--kafka ")
    return text


def opened_source(arguments: Namespace, output: Output) -> Source:
    return opened_text(arguments.source, arguments, output, arguments.kinds)


def opened_text(
    text: str, arguments: Namespace, output: Output, kinds: SourceKinds = ANY
) -> Source:
    """Open the SOURCE ``text``, which must be one of ``kinds``.

    Raises:
        InvalidRequest: ``--command-config`` is given, but no source can be a Kafka cluster.
    """
    from metalog.log.opening import REMOTE
    from metalog_sources.source import open_source

    file = arguments.command_config
    source = open_source(
        text, environ=os.environ, command_config=None if file is None else Path(file), kinds=kinds
    )
    if source.kind not in (*REMOTE, "cluster"):
        check_command_config(arguments, (word for word in arguments.typed if word != text))
    for note in source.notes:
        output.note(note)
    return source


def check_command_config(arguments: Namespace, sources: Iterable[str]) -> None:
    """Raise ``InvalidRequest`` if ``--command-config`` is given, but none of ``sources`` can be a
    Kafka cluster."""
    if arguments.command_config is not None and not any(
        text.startswith("@") or "://" in text for text in sources
    ):
        raise InvalidRequest("--command-config: no source is a Kafka cluster; leave it out")


def replayed_source(
    arguments: Namespace,
    output: Output,
    source: Source | None = None,
    *,
    warn: bool = True,
    allows_doubts: bool = False,
    rests_on_users: bool = False,
    is_whole: bool = False,
    notes: RecordNotes | None = None,
) -> Replayed:
    """The replayed state of SOURCE.

    ``warn``: print the source's faults.
    ``is_whole``: replay all kinds of state (``ImageSubject``), not only ``AUTHORIZATION``.
    ``notes``: gets the log's records.
    ``allows_doubts``: the verb shows the log's content, or calls ``refuse_doubts_of`` itself.
    ``rests_on_users``: unreadable SCRAM users are doubts.

    Raises:
        UncertainSource: there is a doubt, without ``allows_doubts`` and without ``--salvage``.
    """
    from metalog.image.selection import AUTHORIZATION
    from metalog_sources.moment import parse_moment
    from metalog_sources.replay import replay_source

    moment = parse_moment(arguments.at) if isinstance(arguments.at, str) else arguments.at
    with output.busy("reading") as progress:
        opened = opened_source(arguments, output) if source is None else source
        if opened.store is not None and (moment is not None or arguments.committed):
            surplus = "--committed" if moment is None else "the moment"
            raise InvalidSource(f"{opened.text}: {NO_HISTORY}; leave out {surplus}, or give a log")
        replayed = replay_source(
            opened,
            at=moment,
            committed=arguments.committed,
            tolerant=True,
            salvage=arguments.salvage,
            progress=lambda reached, aim: progress.reached("reading", reached, aim),
            selection=None if is_whole else AUTHORIZATION,
            notes=notes,
        )
    if replayed.moment is not None:
        _say_moment(replayed.moment, output)
    if replayed.is_bootstrap:
        output.note(BOOTSTRAP_NOTE)
    if warn:
        for problem in problems_of(replayed):
            output.warn(problem)
        _say_unproven(replayed, output)
        if (waiting := replayed.open_transaction) is not None and waiting.unreadable:
            output.note(str(waiting))
        if not rests_on_users:
            _say_unread_users(replayed.unread_users, output)
    if not allows_doubts:
        refuse_doubts_of(replayed, arguments, output, rests_on_users=rests_on_users)
    return replayed


def state_document(
    state: StoreState, arguments: Namespace, output: Output, *, rests_on_users: bool = False
) -> Document:
    """The content of a store. Print warnings, and call ``refuse_doubts_about``."""
    for problem in state.problems:
        output.warn(problem)
    if not rests_on_users:
        _say_unread_users(state.unread_users, output)
    doubts = (*state.doubts, *state.unread_users) if rests_on_users else state.doubts
    refuse_doubts_about(doubts, arguments, output)
    return state.document


def refuse_doubts_of(
    replayed: Replayed, arguments: Namespace, output: Output, *, rests_on_users: bool = False
) -> None:
    refuse_if_nothing_proven(replayed, arguments)
    about_users = replayed.unread_users if rests_on_users else ()
    refuse_doubts_about((*replayed.doubts, *about_users), arguments, output)


def refuse_if_nothing_proven(replayed: Replayed, arguments: Namespace) -> None:
    """Raise ``InvalidSource`` if only proven records are used, and no record is proven.

    ``--committed`` uses only proven records, and so does a log of several folders.
    """
    from metalog.log.folder.merged_folders import FoldersLog

    if replayed.source.store is not None or replayed.proven.offset > 0:
        return
    log = replayed.source.log
    why = f"because nothing in it is proven to be committed: {replayed.proven.why}"
    if isinstance(log, FoldersLog):
        if log.highest_end > 0:
            raise InvalidSource(
                f"{replayed.source.text}: no answer, {why}; give more of the voters' folders,"
                " or only one folder"
            )
    elif arguments.committed and replayed.bounds.end > 0:
        raise InvalidSource(f"{replayed.source.text}: --committed leaves out all of it, {why}")


def refuse_doubts_about(doubts: Sequence[LoadDoubt], arguments: Namespace, output: Output) -> None:
    """Raise ``UncertainSource`` if there are ``doubts``. With ``--salvage``, print them instead."""
    if not doubts:
        return
    from metalog_sources.certainty import doubt_fields, doubt_line, refuse_doubts

    refuse_doubts(doubts, salvage=arguments.salvage)
    output.say_missing(map(doubt_line, doubts), map(doubt_fields, doubts))


def _say_unread_users(doubts: Sequence[LoadDoubt], output: Output) -> None:
    for doubt in doubts:
        output.warn(f"{doubt.reason}; unreadable SCRAM users were left out")


def _say_unproven(replayed: Replayed, output: Output) -> None:
    from metalog_sources.replay import UNPROVEN

    proven = replayed.proven.offset
    is_known = replayed.bounds.high_watermark is not None
    is_reported = any(problem.startswith(UNPROVEN) for problem in replayed.problems)
    if is_known or is_reported or replayed.offset <= proven:
        return
    output.note(
        f"records at offset {proven:,} and later are not proven to be committed;"
        " --committed ignores them"
        if proven
        else f"{UNPROVEN}: {replayed.proven.why}"
    )


def problems_of(replayed: Replayed) -> list[str]:
    """The faults of the source that did not stop the replay, one line each."""
    from metalog.loader.other_kafka import foreign_traces

    return [
        *replayed.problems,
        *foreign_traces(replayed.image.features, replayed.skipped).values(),
        *map(_doubt_text, _doubts_about_read(replayed)),
    ]


def _doubts_about_read(replayed: Replayed) -> list[LoadDoubt]:
    """The doubts about records that the replay did not skip."""
    if replayed.loader is None:
        return []
    left_out = {each.offset for each in replayed.skipped.values()}
    return [each for each in replayed.loader.doubts.values() if each.offset not in left_out]


def resolved_moment(arguments: Namespace, log: Log, output: Output) -> ResolvedMoment | None:
    """The moment of ``--at`` in ``log``, for a verb that does not replay."""
    if arguments.at is None:
        return None
    from metalog_sources.moment import parse_moment, resolve_moment

    moment = resolve_moment(parse_moment(arguments.at), log, now_ms=int(time() * 1000))
    _say_moment(moment, output)
    return moment


def begin_moment(text: str, log: Log) -> ResolvedMoment:
    """The moment of ``--from`` in ``log``, or the log's start if the log begins later."""
    from metalog_sources.moment import parse_moment, resolve_begin

    return resolve_begin(parse_moment(text), log, now_ms=int(time() * 1000))


def _doubt_text(doubt: LoadDoubt) -> str:
    more = "" if doubt.records == 1 else f" (and that of {doubt.records - 1:,} more)"
    return f"offset {doubt.offset}: the record's meaning is uncertain{more}: {doubt.reason}"


def _say_moment(moment: ResolvedMoment, output: Output) -> None:
    output.note(f"as of {moment.description}")
    for warning in moment.warnings:
        output.warn(warning)


def broker_properties(file: Path | None, arguments: Namespace) -> LocatedProperties:
    """The keys of ``file``. Options override the keys."""
    from metalog.config.located_properties import LocatedProperties
    from metalog.log.properties_file import located_properties

    located = LocatedProperties((), "") if file is None else located_properties(file)
    if arguments.super_users is not None:
        located.override(SUPER_USERS_KEY, arguments.super_users, "--super-users")
    if arguments.allow_everyone is not None:
        value = str(arguments.allow_everyone).lower()
        located.override(ALLOW_EVERYONE_KEY, value, "--allow-everyone")
    if arguments.kafka is not None:
        located.override(KAFKA_VERSION_KEY, arguments.kafka, "--kafka")
    return located


def read_config(
    arguments: Namespace, source: Source, output: Output, *, decides: bool = False
) -> Context:
    """The configuration of ``--config``, or else of the named SOURCE. Options override its keys.

    Raises:
        InvalidRequest: the verb ``decides``, and the configured node has no authorizer.
    """
    from authorizer.config import from_located

    file = source.config if arguments.config is None else Path(arguments.config)
    located = broker_properties(file, arguments)
    properties = located.properties
    if source.kafka_version is not None:
        properties.setdefault(KAFKA_VERSION_KEY, source.kafka_version)
    config, warnings = from_located(located)
    for warning in warnings:
        output.warn(warning)
    if file is not None:
        _warn_if_decisions_differ(properties, file, output, decides=decides)
    defaults = {SUPER_USERS_KEY: "", ALLOW_EVERYONE_KEY: "false"} if file is None else {}
    assumed = [f"{key}={value}" for key, value in defaults.items() if key not in properties]
    if assumed:
        output.note(f"without --config server.properties, assumed {' and '.join(assumed)}")
    return Context(config, tuple(assumed))


def context_over(context: Context, source: Source, image: MetadataImage) -> Context:
    """``context``, with the likely Kafka version of ``source`` if no version is configured."""
    from metalog_sources.targets.target import likely_kafka

    hosts = {acl.host for acl in image.acls.by_id.values()}
    return context.with_kafka(likely_kafka(source.opened, image.features), hosts)


def _warn_if_decisions_differ(
    properties: Mapping[str, str], file: Path, output: Output, *, decides: bool
) -> None:
    from authorizer.loading import CLASS_NAME, has_no_authorizer, why_decisions_differ

    lacks_authorizer = has_no_authorizer(properties)
    if not lacks_authorizer and not any(key in properties for key in _AUTHORIZER_KEYS):
        output.warn(
            f"{file} sets none of {', '.join(_AUTHORIZER_KEYS)}: is it a server.properties?"
        )
        return
    why = why_decisions_differ(properties)
    if why is None:
        return
    if decides and lacks_authorizer:
        raise InvalidRequest(
            f"{file}: {why}; give the configuration of a node that has one, "
            "or --super-users and no configuration"
        )
    has_class = str(properties.get(CLASS_NAME) or "").strip()
    output.warn(f"{file}: {why}{'' if has_class else '; metalog still decides by the ACLs'}")
