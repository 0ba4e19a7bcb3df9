"""``metalog pipeline follow``: decides requests as their audit lines arrive, and prints alerts.

This module must not know how a batch is carried out, nor what deserves an alert.
"""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Final

from authorizer.audit.layouts import Zone
from metalog.errors import InvalidRequest
from metalog_sources.source_kinds import FOLLOWED
from shell.arguments.pipeline import add_spark, check_installed, is_here, spark_session, writing_to
from shell.context import add_command_config, check_command_config
from shell.options import at_least
from shell.output.output import Output
from shell.tasks.follow.alerts import SHOWN, Alerts, last_posted
from shell.verbs.pipeline.build import broker_pattern, named_config
from shell.views.pipeline.alerts import print_alerts
from shell.views.pipeline.build_summary import followed_text

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from metalog_spark.follow.batch import FollowJob
    from metalog_spark.follow.webhook import WebhookEndpoint
    from metalog_spark.history.archive import Unproven
    from metalog_spark.history.configuration import Configuration
    from metalog_spark.store.table_store import Tables
    from shell.tasks.follow.figures import NewestFigures

USAGE: Final = "--log SOURCE --audit FOLDER|TOPIC --out DIR [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """\
metalog pipeline follow --log quorum://c1:9093 --audit /logs/rotated --out /data/now \\
    --config server.properties                        until Ctrl-C, alerts as they come
metalog pipeline follow --log quorum://c1:9093 --audit topic://b1:9092/audit --out /data/now
metalog pipeline follow … --once                      only the present lines, from cron

Each line counts once, even if the process is killed and started again with the same DIR. A file is
read whole when it appears, so move finished files into FOLDER and do not rename them. A record of
TOPIC contains an audit line, and the record's key names the broker. A request is decided by the
ACLs at its time, so a request waits until the log is known and committed up to that time.
Findings cover the requests up to the last orderly stop.
Exit code: 0 stopped, 2 failed."""
_LOOK_S: Final = 1
_POSTED_WITHIN_S: Final = 60.0
"""At the end, the maximum wait for the posting of each batch of alerts, in seconds."""
_OWN_ERROR: Final = re.compile(r"^metalog\.errors\.\w+: (.*)$", re.MULTILINE)


def configure(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("input and output")
    group.add_argument("--log", required=True, metavar="SOURCE", help=f"{FOLLOWED}, or @NAME")
    group.add_argument(
        "--audit",
        required=True,
        metavar="FOLDER|TOPIC",
        help="the folder, or pattern of folders, where finished audit logs appear; or the topic "
        "with audit lines, topic://HOST:PORT[,HOST:PORT]/TOPIC",
    )
    group.add_argument("--out", required=True, metavar="DIR", help="the pipeline's folder")
    group.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="[MOMENT=]FILE",
        help="the brokers' server.properties, in force since MOMENT; repeatable",
    )
    group.add_argument(
        "--zone",
        default="UTC",
        metavar="ZONE",
        help="time zone of lines without one (default: UTC)",
    )
    group.add_argument(
        "--broker-from",
        metavar="REGEX",
        help="finds the broker's name in a file's path, or in a record's key, headers (NAME=VALUE) "
        "or JSON around the line (host.name=VALUE) (default: as in build; for a record, its key)",
    )
    add_command_config(group)
    group.add_argument(
        "--audit-config",
        metavar="FILE",
        help="the client's settings for the audit topic, if it is in another cluster",
    )
    group.add_argument(
        "--uncommitted", action="store_true", help="use records not proven to be committed, too"
    )
    pace = parser.add_argument_group("timing and alerts")
    pace.add_argument("--once", action="store_true", help="process the present lines, then stop")
    pace.add_argument(
        "--every",
        type=at_least(1, "--every"),
        default=10,
        metavar="SECONDS",
        help="seconds between polls (default: 10)",
    )
    pace.add_argument(
        "--at-once",
        type=at_least(1, "--at-once"),
        metavar="N",
        help="at most this many files, or records of a topic, in a batch (default: 1000 or 500000)",
    )
    pace.add_argument(
        "--lateness",
        type=at_least(0, "--lateness"),
        default=30,
        metavar="SECONDS",
        help="allowed lag of the metadata log behind the brokers, in seconds (default: 30)",
    )
    pace.add_argument(
        "--storm",
        type=at_least(1, "--storm"),
        default=100,
        metavar="N",
        help="alert on this many denials of a principal in five minutes (default: 100)",
    )
    _configure_outlets(parser)
    add_spark(parser)


def _configure_outlets(parser: ArgumentParser) -> None:
    outside = parser.add_argument_group("other outputs")
    outside.add_argument(
        "--webhook",
        metavar="URL",
        help="post each alert as JSON to URL; retry after a failure other than 400, 413 and 422",
    )
    outside.add_argument(
        "--webhook-headers",
        metavar="FILE",
        help="HTTP headers for --webhook, one NAME: VALUE per line, such as Authorization",
    )
    outside.add_argument(
        "--metrics",
        metavar="URL",
        help="serve /metrics for Prometheus, and /healthz, at http://HOST:PORT",
    )


def run(arguments: Namespace, output: Output) -> int:
    check_installed(output)
    check_command_config(arguments, [arguments.log, arguments.audit])
    from shell.tasks.follow.figures import metrics_address, served

    configuration = _configuration(arguments, output)
    hook, metrics = _endpoint(arguments), metrics_address(arguments.metrics)
    zone, broker = Zone(arguments.zone), broker_pattern(arguments.broker_from)
    _check(arguments)
    with output.busy("looking at the input"):
        following = _follow_job(arguments, configuration, zone, broker)
        unproven = following.log.unproven()
        warnings = following.log.look().foreign
        cluster_id = following.log.cluster_id()
    _check_out(arguments, cluster_id)
    for each in unproven:
        output.warn(_unproven_text(each))
    for line in warnings:
        output.warn(f"{arguments.log}: {line}")
    ignored = _IgnoredFiles(arguments, output)
    output.disable_pager()
    with writing_to(arguments, arguments.out), spark_session(arguments, output) as session:
        from metalog_spark.follow.batch import progress_of
        from metalog_spark.follow.query import follow_tables, start
        from metalog_spark.follow.tables import store_configuration
        from metalog_spark.follow.webhook import Webhook
        from metalog_spark.summary import tally

        tables = follow_tables(session, arguments.out, arguments.log, arguments.audit, cluster_id)
        store_configuration(tables, configuration)
        before = tally(tables, tables.marked(SHOWN))
        webhook = None if hook is None else Webhook(hook, last_posted(tables))
        alerts = Alerts(tables, webhook, partial(print_alerts, output=output), output.warn)
        query = start(
            following,
            tables,
            arguments.audit,
            every_s=None if arguments.once else arguments.every,
            most=arguments.at_once,
        )
        output.end_progress()
        try:
            with served(metrics, tables, webhook) as figures:
                latest = _print_until_end(query, tables, ignored, (alerts, figures), output)
            alerts.finish(latest, _POSTED_WITHIN_S)
        except KeyboardInterrupt:
            output.note("interrupted; run follow again with the same --out to continue")
            raise
        finally:
            query.stop()
            if webhook is not None:
                webhook.close()
        _complete(following, latest, output)
        output.note(followed_text(before, tally(latest, progress_of(latest).batch)))
    return 0


def _configuration(arguments: Namespace, output: Output) -> Configuration:
    from metalog_spark.history.configuration import read_configuration

    configuration, warnings = read_configuration(arguments.config or named_config(arguments.log))
    for warning in warnings:
        output.warn(warning)
    return configuration


def _check(arguments: Namespace) -> None:
    from metalog.log.topic.address import is_topic
    from metalog_spark.ingest.audit_preflight import refuse_acls
    from metalog_spark.store.preflight import check_can_be_followed

    refuse_acls(arguments.audit)
    if not is_topic(arguments.audit):
        if arguments.audit_config is not None:
            raise InvalidRequest(
                f"--audit-config {arguments.audit_config}: --audit {arguments.audit} is not"
                " a topic; leave out --audit-config"
            )
        if is_here(arguments, arguments.audit):
            check_can_be_followed(arguments.audit)


def _check_out(arguments: Namespace, cluster_id: str | None) -> None:
    from metalog_spark.follow.query import check_same_input
    from metalog_spark.store.commit_log import NOTHING
    from metalog_spark.store.preflight import check_can_be_filled

    out = arguments.out
    if is_here(arguments, out):
        contents = check_can_be_filled(out) or NOTHING
        check_same_input(out, contents, arguments.log, arguments.audit, cluster_id)


def _endpoint(arguments: Namespace) -> WebhookEndpoint | None:
    from metalog_spark.follow.webhook import endpoint

    file = arguments.webhook_headers
    if arguments.webhook is None:
        if file is not None:
            raise InvalidRequest(f"--webhook-headers {file}: without --webhook nothing is posted")
        return None
    headers = "" if file is None else Path(file).read_text("utf-8", errors="replace")
    return endpoint(arguments.webhook, headers)


def _follow_job(
    arguments: Namespace, configuration: Configuration, zone: Zone, broker: re.Pattern[str] | None
) -> FollowJob:
    from metalog.log.topic.address import is_topic
    from metalog_spark.follow.batch import FollowJob
    from metalog_spark.follow.log import FollowedLog
    from metalog_spark.follow.topic import opened_topic
    from metalog_spark.store.table_store import placed

    settings = arguments.command_config
    config = None if settings is None else Path(settings)
    log = FollowedLog(arguments.log, config, committed=not arguments.uncommitted)
    settings = arguments.audit_config
    topic_config = config if settings is None else Path(settings)
    topic = None
    if is_topic(arguments.audit):
        topic = opened_topic(arguments.audit, topic_config)
        topic.check()
    return FollowJob(
        placed(arguments.out),
        log,
        configuration,
        zone,
        topic,
        topic_config,
        broker,
        arguments.lateness * 1000,
        arguments.storm,
    )


def _unproven_text(each: Unproven) -> str:
    return (
        f"{each.description()}, and later requests wait; follow quorum://HOST:PORT, or the folders"
        " of more voters joined by +, or give --uncommitted"
    )


class _IgnoredFiles:
    """The files that Spark ignores because their names are not UTF-8."""

    def __init__(self, arguments: Namespace, output: Output) -> None:
        self._audit = arguments.audit if is_here(arguments, arguments.audit) else None
        self._output = output
        self._reported: set[Path] = set()

    def say(self) -> None:
        from metalog_spark.ingest.lines.audit_log import shown
        from metalog_spark.store.preflight import passed_over

        found = [] if self._audit is None else passed_over(self._audit)
        if new := [each for each in found if each not in self._reported]:
            more = f" and {len(new) - 1:,} more" if len(new) > 1 else ""
            name = shown(os.fsencode(new[0]))
            self._output.warn(
                f"{name}{more}: not read, because Spark ignores names that are not UTF-8; rename"
                " such files"
            )
            self._reported.update(new)


def _print_until_end(
    query: StreamingQuery,
    tables: Tables,
    ignored: _IgnoredFiles,
    outlets: tuple[Alerts, NewestFigures],
    output: Output,
) -> Tables:
    from metalog_spark.interrupts import first_ctrl_c
    from metalog_spark.store.table_store import Tables

    (alerts, figures), latest = outlets, tables
    alerts.show_new(latest)
    seen = None
    is_over = False
    with first_ctrl_c() as interrupted:
        while not is_over:
            is_over = _is_over(query)
            if not is_over and interrupted.is_set():
                _stop(query, output)
                is_over = True
            progress = query.lastProgress
            if progress is not None:
                figures.note_check(progress.timestamp)
            if is_over or (progress is not None and progress.batchId != seen):
                seen = None if progress is None else progress.batchId
                ignored.say()
                latest = Tables.open(tables.session, tables.path)
                alerts.show_new(latest)
                figures.show(latest)
            alerts.post(latest)
    return latest


def _stop(query: StreamingQuery, output: Output) -> None:
    """Stop after the current batch, then wait, because another batch can still begin."""
    output.note("stopping when this batch is done; Ctrl-C again stops at once")
    while query.status["isTriggerActive"]:
        sleep(_LOOK_S)
    query.stop()
    _is_over(query)


def _is_over(query: StreamingQuery) -> bool:
    from pyspark.errors import StreamingQueryException

    from metalog.errors import InvalidSource

    try:
        return bool(query.awaitTermination(_LOOK_S))
    except StreamingQueryException as error:
        own = _OWN_ERROR.findall(str(error))
        if own:
            raise InvalidSource(own[-1]) from error
        raise


def _complete(following: FollowJob, latest: Tables, output: Output) -> None:
    from metalog_spark.findings.windows.pending import waiting_in
    from metalog_spark.follow.tables import complete

    history = following.log.look()
    with output.busy("updating the derived tables"):
        complete(latest, history, following.log.text)
    if waiting := waiting_in(latest):
        output.note(waiting.text())
