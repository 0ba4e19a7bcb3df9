"""``metalog pipeline build``: builds the tables that other verbs of the pipeline read.

This module must not know how a table is filled.
"""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidRequest, InvalidSource
from metalog.log.folder.layout import PARTITION_FOLDER
from metalog.text.plurals import counted
from metalog_sources.source_kinds import LOGS
from shell.arguments.pipeline import add_spark, check_installed, is_here, spark_session, writing_to
from shell.context import add_command_config, broker_properties, check_command_config, kafka_version
from shell.output.output import Output
from shell.views.pipeline.build_summary import say_unchanged, show_built

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog_sources.names import NamedSource
    from metalog_spark.build import BuildInputs
    from metalog_spark.history.archive import Unproven
    from metalog_spark.history.configuration import Configuration
    from metalog_spark.ingest.file_facts import FilesRead
    from metalog_spark.store.table_store import Tables

USAGE: Final = "--log SOURCE --audit FILE … --config FILE --out DIR [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """\
metalog pipeline build --log /archive/prod --audit 'logs/*/kafka-authorizer.log*' \\
    --config server.properties --out prod.tables
metalog pipeline build --log @prod --audit new/ --out prod.tables       adds the new files

Audit lines of any Kafka version are read, in any log layout with dates or in JSON, also compressed.
A build adds to the folder: a file that is read again replaces its earlier rows, even if the file
was renamed. Rows of other files stay. A line that is broken, or is not an audit line, goes into the
table named rejected, with the reason.

Exit code: 0 built, 1 built without some of the input, 2 not built."""
_LOG: Final = "log"
"""The metadata log's folder in the folder of ``metalog pipeline demo``."""


def configure(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("input and output")
    group.add_argument(
        "--log",
        required=True,
        metavar="SOURCE",
        help=f"{LOGS}, or @NAME of metalog.toml; a pattern in quotes means many folders of one log",
    )
    group.add_argument(
        "--audit",
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="audit logs: files, folders, patterns in quotes, a Parquet table of "
        "lines or requests, or table:NAME for any table that Spark reads",
    )
    group.add_argument(
        "--requests",
        action="append",
        default=[],
        metavar="PARQUET",
        help="a Parquet table with the columns of the table named requests",
    )
    group.add_argument("--out", required=True, metavar="DIR", help="the pipeline's folder")
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="list the files, days and gaps; decide and write nothing",
    )
    add_command_config(group)
    _add_brokers(parser)
    lines = parser.add_argument_group("audit lines")
    lines.add_argument(
        "--zone",
        default="UTC",
        metavar="ZONE",
        help="time zone of lines without one, such as Europe/Berlin or +02:00 (default: UTC)",
    )
    lines.add_argument(
        "--broker-from",
        metavar="REGEX",
        help="finds the broker's name in a file's path (default: the folder's name for a "
        "kafka-authorizer.log, else the file's name up to the first dot)",
    )
    log = parser.add_argument_group("how the log is read")
    log.add_argument(
        "--committed", action="store_true", help="ignore records not proven to be committed"
    )
    log.add_argument(
        "--skip-damaged",
        action="store_true",
        help="continue past damage; the table named history lists the skipped ranges",
    )
    add_spark(parser)


def _add_brokers(parser: ArgumentParser) -> None:
    brokers = parser.add_argument_group("the brokers' configuration, which is not in the log")
    brokers.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="[MOMENT=]FILE",
        help="the brokers' server.properties, in force since MOMENT; repeatable",
    )
    brokers.add_argument(
        "--super-users",
        metavar="USERS",
        help="super.users of the whole history, separated by semicolons",
    )
    brokers.add_argument(
        "--allow-everyone",
        action=BooleanOptionalAction,
        help="allow.everyone.if.no.acl.found of the whole history",
    )
    brokers.add_argument(
        "--kafka",
        type=kafka_version,
        metavar="VERSION",
        help="decide as Kafka 4.3 or 4.4 (default: 4.4 if metadata.version is 32 or more)",
    )


def run(arguments: Namespace, output: Output) -> int:
    check_installed(output)
    check_command_config(arguments, [arguments.log])
    if not arguments.audit and not arguments.requests:
        raise InvalidRequest(
            "there are no requests: name audit logs by --audit, or a table by --requests"
        )
    with _reporting_interrupt(output) as watch:
        return _build(arguments, output, watch)


def _build(arguments: Namespace, output: Output, watch: Callable[[Tables], None]) -> int:
    inputs = _inputs(arguments, output)
    with output.busy("looking at the input"):
        empty = _check(inputs, arguments)
    for each in inputs.log.unproven():
        output.warn(_unproven_text(each))
    if arguments.dry_run:
        return _dry_run(inputs, arguments, output)
    reads = [] if inputs.input_tables else [arguments.log, *inputs.audit, arguments.out]
    with (
        writing_to(arguments, arguments.out),
        spark_session(arguments, output, reads=reads) as session,
    ):
        from metalog_spark.build import build
        from metalog_spark.store.table_store import Tables
        from metalog_spark.summary import summary

        tables = Tables.make(session, arguments.out)
        watch(tables)
        with output.busy("looking at the input") as progress:
            warnings: list[str] = []
            files_read = build(
                tables,
                inputs,
                on_step=lambda doing: setattr(progress, "doing", doing),
                warn=warnings.append,
            )
        for line in warnings:
            output.warn(line)
        with output.busy("counting"):
            found = summary(tables)
    files_read = files_read.with_empty(empty)
    is_all = _say_left_out(files_read, found.damages, output)
    if inputs.broker_from is None:
        _say_shared_brokers(files_read, output)
    show_built(found, output)
    say_unchanged(files_read, output)
    return 0 if is_all else 1


def _dry_run(inputs: BuildInputs, arguments: Namespace, output: Output) -> int:
    from metalog_spark.dry_run import dry_run, stale_days_in
    from shell.views.pipeline.dry_run import show_dry_run

    for place in (*inputs.input_tables, *arguments.audit, arguments.out):
        if place in inputs.input_tables or not is_here(arguments, place):
            raise InvalidRequest(
                f"--dry-run runs without Spark, so it cannot look at {place}; leave out --dry-run"
                " to build"
            )
    with output.busy("looking at the audit files"):
        archive, out = inputs.log.look(), Path(arguments.out)
        stale = stale_days_in(
            out, inputs.log, inputs.configuration, skip_damaged=inputs.skip_damaged
        )
        found = dry_run(arguments.audit, archive, out, inputs.zone, inputs.broker_from, stale=stale)
    return 0 if show_dry_run(found, arguments.out, arguments.zone, output) else 1


@contextmanager
def _reporting_interrupt(output: Output) -> Iterator[Callable[[Tables], None]]:
    watched: list[tuple[Tables, Mapping[str, str]]] = []
    try:
        yield lambda tables: watched.append((tables, tables.contents.places))
    except KeyboardInterrupt:
        is_built = any(tables.contents.places != before for tables, before in watched)
        output.note(f"interrupted; {'all was built' if is_built else 'nothing was changed'}")
        raise


def _inputs(arguments: Namespace, output: Output) -> BuildInputs:
    from authorizer.audit.layouts import Zone
    from metalog_spark.build import BuildInputs
    from metalog_spark.history.archive import Logs
    from metalog_spark.ingest.audit_preflight import refuse_acls

    for audit in arguments.audit:
        refuse_acls(audit)
    zone, broker_from = Zone(arguments.zone), broker_pattern(arguments.broker_from)
    command_config = arguments.command_config
    tables = [audit for audit in arguments.audit if _is_table(audit, arguments)]
    log = Logs(
        arguments.log,
        environ=os.environ,
        committed=arguments.committed,
        command_config=None if command_config is None else Path(command_config),
    )
    return BuildInputs(
        log=log,
        configuration=_configuration(arguments, output),
        zone=zone,
        audit=[audit for audit in arguments.audit if audit not in tables],
        requests=arguments.requests,
        tables=tables,
        broker_from=broker_from,
        skip_damaged=arguments.skip_damaged,
    )


def _is_table(audit: str, arguments: Namespace) -> bool:
    from metalog_spark.ingest.audit_preflight import holds_parquet
    from metalog_spark.ingest.audit_tables import is_table

    return is_table(audit) or (is_here(arguments, audit) and holds_parquet(audit))


def _check(inputs: BuildInputs, arguments: Namespace) -> list[str]:
    """The checks that need no Spark. Returns the empty audit files."""
    from metalog.log.topic.address import is_topic
    from metalog_spark.build import check
    from metalog_spark.ingest.audit_preflight import check_audit, check_has_line
    from metalog_spark.store.preflight import check_can_be_filled, check_is_outside
    from metalog_spark.store.refusals import check_is_not_followed

    is_new = False
    if is_here(arguments, arguments.out):
        contents = check_can_be_filled(arguments.out)
        is_new = contents is None
        if contents is not None:
            check_is_not_followed(arguments.out, contents)
    for audit in inputs.audit:
        if is_topic(audit):
            raise InvalidRequest(
                f"{audit}: a topic has no end, and Kafka deletes its records; read it with metalog"
                " pipeline follow"
            )
        check_is_outside(arguments.out, "--audit", audit)
    here = [audit for audit in inputs.audit if is_here(arguments, audit)]
    empty = check_audit(here, arguments.out, inputs.broker_from)
    check_is_outside(arguments.out, "--log", arguments.log)
    _check_tables(inputs, arguments)
    try:
        check(inputs)
    except InvalidSource as error:
        inside = Path(arguments.log, _LOG)
        if not (inside / PARTITION_FOLDER).is_dir():
            raise
        raise InvalidSource(f"{error}; did you mean {inside}?") from None
    if is_new and here == inputs.audit and not inputs.input_tables:
        check_has_line(here)
    return empty


def _check_tables(inputs: BuildInputs, arguments: Namespace) -> None:
    from metalog_spark.ingest.audit_tables import PREFIX
    from metalog_spark.store.preflight import check_is_table

    for option, tables in ("--audit", inputs.tables), ("--requests", inputs.requests):
        for table in tables:
            if not table.startswith(PREFIX) and is_here(arguments, table):
                check_is_table(table, option)


def _unproven_text(each: Unproven) -> str:
    return (
        f"{each.description()}, and the other records are left out; name the folders of more"
        " voters joined by +, or leave out --committed"
    )


def _configuration(arguments: Namespace, output: Output) -> Configuration:
    from authorizer.config import from_located, read_kafka_version
    from metalog_spark.history.configuration import Configuration, read_configuration

    texts = arguments.config or named_config(arguments.log)
    users, everyone = arguments.super_users, arguments.allow_everyone
    overrides, warnings = from_located(broker_properties(None, arguments))
    named_kafka = read_kafka_version(_named(arguments.log).kafka_version or "")
    read, file_warnings = read_configuration(texts)
    if texts or users is None:
        warnings += file_warnings
    for warning in warnings:
        output.warn(warning)

    def overridden(config: AuthorizerConfig) -> AuthorizerConfig:
        return config._replace(
            super_users=config.super_users if users is None else overrides.super_users,
            allow_everyone=config.allow_everyone if everyone is None else everyone,
            kafka_version=overrides.kafka_version or config.kafka_version or named_kafka,
        )

    return Configuration(
        period._replace(config=overridden(period.config)) for period in read.periods
    )


def named_config(log: str) -> list[str]:
    """The configuration of the name ``log`` in metalog.toml, if any."""
    config = _named(log).config
    return [] if config is None else [str(config)]


def _named(log: str) -> NamedSource:
    from metalog.disk.files import LOCAL_FILES
    from metalog_sources.names import NamedSource, look_up

    if not log.startswith("@"):
        return NamedSource(log, Path())
    return look_up(log, os.environ, Path(), LOCAL_FILES)


def broker_pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise InvalidRequest(f"--broker-from {text}: not a regular expression: {error}") from None


def _say_left_out(files_read: FilesRead, damages: Sequence[str], output: Output) -> bool:
    """Returns False if requests can be missing."""
    problems = [f"skipped: {damage}" for damage in damages]
    with_requests = {_log_of(each.path) for each in files_read.logs if each.requests}
    with_requests |= {_log_of(each.file) for each in files_read.named if each.requests}
    for each in files_read.named:
        if each.known_lines is not None:
            problems.append(
                f"{each.file}: left out: it has {counted(each.lines, 'line')}, but {each.same},"
                f" which begins with the same lines, had {each.known_lines:,} when it was read"
            )
        elif each.same is not None:
            output.note(f"{each.file}: left out, because {each.same} begins with the same lines")
        elif each.fault is not None:
            problems.append(f"{each.file}: {each.fault}")
        elif each.lines == 0:
            if _log_of(each.file) not in with_requests:
                problems.append(f"{each.file}: empty, so it has no request of its broker")
        elif (text := each.no_request_text()) is not None:
            problems.append(text)
    for problem in problems:
        output.warn(problem)
    return not problems


def _log_of(file: str) -> tuple[Path, str]:
    """The folder and the broker's name, which a log file shares with its rotated files."""
    from metalog_spark.ingest.audit_files import broker_of

    return Path(file).parent, broker_of(file, None)


def _say_shared_brokers(files_read: FilesRead, output: Output) -> None:
    folders: dict[str, dict[Path, None]] = {}
    for each in files_read.logs:
        if each.is_kept:
            folder, broker = _log_of(each.path)
            folders.setdefault(broker, {})[folder] = None
    for broker, (first, *more) in folders.items():
        if more:
            rest = f" ({len(more) - 1:,} more)" if len(more) > 1 else ""
            output.warn(
                f"{first} and {more[0]}{rest}: their logs count as those of one broker,"
                f" {broker}; if there are several brokers, name each with --broker-from"
            )
