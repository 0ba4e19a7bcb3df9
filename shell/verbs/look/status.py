"""``metalog status SOURCE``: what the log contains, how far it is committed, what is wrong.

This module must not know what an ACL or a user means.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from metalog.text.visible_text import safe, shown
from metalog_sources.source_kinds import LOGS
from shell.context import add_source, problems_of, replayed_source
from shell.output.output import Cell, Output

if TYPE_CHECKING:
    from metalog.log.folder.layout import MetaProperties
    from metalog_sources.replay import Replayed
    from metalog_sources.source import Source

USAGE: Final = "SOURCE [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = True
EPILOG: Final = "Exit code: 0 all is well, 1 there are problems, 2 the log cannot be read."


def configure(parser: ArgumentParser) -> None:
    add_source(parser, kinds=LOGS)


def run(arguments: Namespace, output: Output) -> int:
    from metalog_sources.record_notes import RecordCounts
    from metalog_sources.replay import survey_rest

    counts = RecordCounts()
    replayed = replayed_source(
        arguments, output, warn=False, allows_doubts=True, is_whole=True, notes=counts
    )
    end = replayed.bounds.end
    with output.busy("counting records") as progress:
        damage = survey_rest(
            replayed, counts, lambda offset: progress.reached("counting records", offset, end)
        )
    problems = problems_of(replayed)
    if damage is not None and not any(problem.startswith(damage.found) for problem in problems):
        problems.append(str(damage))
    records = dict(sorted(counts.items()))
    if output.is_text:
        _print(replayed, records, problems, output)
    else:
        output.record(_as_json(replayed, records, problems))
    return 1 if problems else 0


def _print(
    replayed: Replayed, records: Mapping[str, int], problems: list[str], output: Output
) -> None:
    bounds, image = replayed.bounds, replayed.image
    meta = _meta_properties(replayed.source)
    cluster = replayed.cluster_id or "unknown"
    node = "" if meta is None or meta.node_id is None else f", node {meta.node_id}"
    total = sum(records.values())
    by_type = sorted(records.items(), key=lambda pair: (-pair[1], pair[0]))
    snapshots = [str(each) for each in replayed.snapshots]
    transaction = replayed.open_transaction
    lines = [
        ("source", [safe(replayed.source.describe)]),
        ("cluster", [shown(cluster) + node]),
        ("metadata.version", [image.features.metadata_version_name or "unknown"]),
        ("log", [_log_text(replayed)]),
        ("committed", [_committed_text(replayed)]),
        *([("transaction", [safe(str(transaction))])] if transaction is not None else []),
        ("snapshots", snapshots or ["none"]),
        ("ACLs", [f"{len(image.acls):,}"]),
        ("SCRAM users", [f"{_scram_users(replayed):,}"]),
        ("ready", [_ready_text(replayed)]),
        ("problems", [safe(problem) for problem in problems] or ["none"]),
        ("records", [f"{total:,}", *(f"{count:>8,}  {kind}" for kind, count in by_type)]),
    ]
    if replayed.offset != bounds.end:
        lines.insert(5, ("read", [f"up to offset {replayed.offset:,}"]))
    output.aligned(
        [Cell(label if first else "", "name"), value]
        for label, values in lines
        for first, value in ((number == 0, value) for number, value in enumerate(values))
    )


def _log_text(replayed: Replayed) -> str:
    bounds, encoding = replayed.bounds, _topic_encoding(replayed.source)
    values = "" if encoding is None else f", values in {encoding}"
    return f"start offset {bounds.start:,}, end offset {bounds.end:,}, epoch {bounds.epoch}{values}"


def _ready_text(replayed: Replayed) -> str:
    if replayed.is_bootstrap:
        return "no: the folder is formatted, but no node has written a record yet"
    if not replayed.ready:
        return "no: no committed metadata record was read"
    return "no: no answer is certain, see the problems" if replayed.doubts else "yes"


def _committed_text(replayed: Replayed) -> str:
    mark, proven = replayed.bounds.high_watermark, replayed.proven
    if replayed.is_bootstrap:
        return "nothing yet: the log is empty"
    if mark is not None:
        return f"up to offset {mark:,}: {safe(replayed.bounds.why)}"
    if proven.offset == 0:
        return f"nothing is proven: {safe(proven.why)}"
    return f"proven up to offset {proven.offset:,}: {safe(proven.why)}"


def _as_json(replayed: Replayed, records: Mapping[str, int], problems: list[str]) -> dict[str, Any]:
    bounds, image = replayed.bounds, replayed.image
    meta = _meta_properties(replayed.source)
    return {
        "clusterId": replayed.cluster_id,
        "nodeId": None if meta is None else meta.node_id,
        "metadataVersion": image.features.metadata_version_name,
        "leaderEpoch": bounds.epoch,
        "leaderId": _quorum_leader_id(replayed.source),
        "encoding": _topic_encoding(replayed.source),
        "startOffset": bounds.start,
        "endOffset": bounds.end,
        "highWatermark": bounds.high_watermark,
        "provenCommit": replayed.proven.offset,
        "provenBy": replayed.proven.why,
        "readTo": replayed.offset,
        "snapshots": [
            {"endOffset": each.end_offset, "epoch": each.epoch} for each in replayed.snapshots
        ],
        "snapshotUsed": None if replayed.snapshot is None else str(replayed.snapshot),
        "records": dict(records),
        "acls": len(image.acls),
        "scramUsers": _scram_users(replayed),
        "openTransaction": _transaction_as_json(replayed),
        "ready": replayed.ready and not replayed.doubts,
        "bootstrap": replayed.is_bootstrap,
        "skipped": {kind: each._asdict() for kind, each in replayed.skipped.items()},
        "problems": problems,
    }


def _scram_users(replayed: Replayed) -> int:
    return len({user for users in replayed.image.scram.mechanisms.values() for user in users})


def _meta_properties(source: Source) -> MetaProperties | None:
    from metalog.log.folder.directory import DirectoryLog
    from metalog.log.folder.merged_folders import FoldersLog

    if isinstance(source.log, FoldersLog):
        return source.log.source.meta_properties
    return source.log.meta_properties if isinstance(source.log, DirectoryLog) else None


def _topic_encoding(source: Source) -> str | None:
    if source.kind != "topic":
        return None
    from metalog.log.topic.reader import TopicLog

    return source.log.encoding if isinstance(source.log, TopicLog) else None


def _quorum_leader_id(source: Source) -> int | None:
    if source.kind != "quorum":
        return None
    from metalog.log.quorum.observer import QuorumLog

    return source.log.leader.id if isinstance(source.log, QuorumLog) else None


def _transaction_as_json(replayed: Replayed) -> dict[str, Any] | None:
    transaction = replayed.open_transaction
    if transaction is None:
        return None
    unread = [{"offset": at, "reason": reason} for at, reason in transaction.unreadable.items()]
    return {"offset": transaction.offset, "records": transaction.records, "unread": unread}
