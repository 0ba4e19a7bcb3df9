"""``metalog archive SOURCE FOLDER``: keeps the log past the controller's retention.

This module must not know how an archive is laid out.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metalog.disk.files import LOCAL_FILES
from metalog.errors import InvalidRequest, InvalidSource
from metalog.text.plurals import counted
from metalog.text.visible_text import safe
from metalog_sources.names import folder_to_write
from metalog_sources.source_kinds import ARCHIVED
from shell.context import add_command_config, add_source_argument, opened_source
from shell.output.output import Output

if TYPE_CHECKING:
    from metalog_sources.source import Source

USAGE: Final = "SOURCE FOLDER [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """\
metalog archive /var/kafka/metadata /archive/prod                 from cron
metalog archive node-1+node-2+node-3 /archive/prod                the records that a majority has
metalog history /archive/prod --from 2026-01-01                   an archive is a SOURCE

The archive has only records that are proven to be committed, and loses no record. Each run adds
the newer records; if the controller has deleted some of these records, begin another folder.
Exit code: 0 archived, 2 not archived."""


def configure(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("input and output")
    add_source_argument(group, ARCHIVED)
    group.add_argument(
        "folder", metavar="FOLDER", help="the archive of this one log; created if missing"
    )
    group.add_argument(
        "--cluster-id",
        metavar="ID",
        help="the cluster id, if the log does not have it; for the first run",
    )
    add_command_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    from snapshot.archive import archive_log

    target = folder_to_write(arguments.folder)
    source = opened_source(arguments, output)
    if target.is_file():
        raise InvalidRequest(f"{target}: is a file; give a folder for the archive")
    cluster_id = _cluster_id(source, target, arguments)
    proven = source.log.proven
    if proven.offset == 0:
        why = f"nothing in it is proven to be committed: {proven.why}"
        raise InvalidSource(f"{source.text}: {why if source.log.bounds().end else 'it is empty'}")
    done = archive_log(source.log, proven.offset, target, cluster_id=cluster_id, files=LOCAL_FILES)
    added = done.end - done.added_from
    if not output.is_text:
        output.record(
            {
                "startOffset": done.start,
                "endOffset": done.end,
                "added": added,
                "snapshotsAdded": done.snapshots,
            }
        )
        return 0
    news = f"{counted(added, 'record')} added" if added else "no record added"
    if done.snapshots:
        news += f", and {counted(done.snapshots, 'snapshot')}"
    log = f"start offset {done.start:,}, end offset {done.end:,}"
    output.line(f"{safe(str(target))} holds the log ({log}): {news}.")
    if source.log.bounds().end > done.end:
        output.note(
            f"records at offset {done.end:,} and later are not proven to be committed yet:"
            f" {proven.why}"
        )
    return 0


def _cluster_id(source: Source, target: Path, arguments: Namespace) -> str | None:
    """Raises ``InvalidSource`` if a quorum's cluster id is unknown, because another cluster's log
    could be added."""
    from metalog_sources.replay import cluster_id_of
    from snapshot.archive import archived_cluster

    source_id, option_id = cluster_id_of(source), arguments.cluster_id
    if source_id is not None:
        if option_id not in (None, source_id):
            raise InvalidSource(
                f"{source.text}: the log is of cluster {source_id}, but --cluster-id is {option_id}"
            )
        return source_id
    known: str | None = option_id or archived_cluster(target, LOCAL_FILES)
    if source.kind == "quorum":
        from metalog.log.quorum.observer import QuorumLog

        if known is None:
            raise InvalidSource(
                f"{source.text}: its controllers send the cluster's id only to clients with"
                " ALTER on the cluster; give --cluster-id, so that no other cluster's log is added"
            )
        if isinstance(source.log, QuorumLog):
            source.log.expect_cluster(known)
    return known
