"""``metalog dump SOURCE``: every record of the log, control records too.

Records of aborted transactions are shown, too. This module must not know what any record means.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from base64 import b64encode
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from metalog.log.folder.single_file import CheckpointLog
from metalog.ports import Appended
from metalog.records.frame import Undecodable
from metalog.records.masking import masked
from metalog.records.message import ControlMessage
from metalog.records.primitives.json_fields import json_bytes, json_string
from metalog.text.visible_text import safe
from metalog_sources.source_kinds import LOGS
from shell.context import BOOTSTRAP_NOTE, add_source, opened_source, resolved_moment
from shell.output.output import Cell, Output

if TYPE_CHECKING:
    from metalog.records.batch import Batch, MessageEntry
    from metalog_sources.source import Source
    from shell.output.progress import ProgressLine

USAGE: Final = "SOURCE [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = True
EPILOG: Final = """\
For a snapshot (.checkpoint) it prints the records with their positions in the file as offsets.
--json has every field as it was written, salts and keys included. In text, salts,
keys and passwords are masked, unless --show-secrets is given."""


def configure(parser: ArgumentParser) -> None:
    add_source(parser, kinds=LOGS)
    parser.add_argument_group("output").add_argument(
        "--show-secrets", action="store_true", help="show salts, keys and passwords in text, too"
    )


def run(arguments: Namespace, output: Output) -> int:
    source = opened_source(arguments, output)
    with output.busy("writing") as progress:
        entries = _entries(*_batches(source, arguments, output), progress)
        if output.is_text:
            output.aligned(
                (
                    _row(batch, each, arguments.show_secrets)
                    for batch, of_batch in entries
                    for each in of_batch
                ),
                whole=True,
            )
        else:
            for batch, of_batch in entries:
                texts: list[str] = []
                try:
                    texts.extend(_json_texts(batch, of_batch))
                finally:  # prints the records before the damage in a batch
                    output.json_texts(texts)
    return 0


def _batches(
    source: Source, arguments: Namespace, output: Output
) -> tuple[Iterable[Batch], int | None]:
    """The batches, and the end offset (exclusive); None for a snapshot or bootstrap records."""
    log = source.log
    if isinstance(log, CheckpointLog):
        return _snapshot_batches(log, salvage=arguments.salvage), None
    bounds = log.bounds()
    end = bounds.end
    moment = resolved_moment(arguments, log, output)
    if moment is not None:
        end = moment.offset
    if arguments.committed:
        end = min(end, log.proven.offset)
    for problem in log.problems:
        output.warn(problem)
    if bounds.end == 0 and (bootstrap := log.bootstrap()) is not None:
        if log.damage is not None and not arguments.salvage:
            raise log.damage
        output.note(BOOTSTRAP_NOTE)
        return bootstrap, None
    return _log_batches(log, bounds.start, end), end


def _log_batches(log: Any, start: int, end: int) -> Iterator[Batch]:
    for event in log.read(start):
        if isinstance(event, Appended):
            if event.batch.base_offset >= end:
                return
            yield event.batch


def _snapshot_batches(log: CheckpointLog, *, salvage: bool) -> Iterator[Batch]:
    from collections import deque

    from metalog.records.checkpoint import check_snapshot
    from snapshot.reader import read_snapshot

    if not salvage:
        deque(check_snapshot(read_snapshot(log, log.id)), maxlen=0)
    return log.open_snapshot(log.id)


def _entries(
    batches: Iterable[Batch], end: int | None, progress: ProgressLine
) -> Iterator[tuple[Batch, Iterator[MessageEntry]]]:
    for batch in batches:
        entries = batch.entries()
        if end is not None:
            progress.reached("writing", batch.base_offset, end)
            entries = islice(entries, end - batch.base_offset)
        yield batch, entries


def _json_texts(batch: Batch, entries: Iterable[tuple[int, int, int, Any]]) -> Iterator[str]:
    """Joins texts and reuses most of them for the next record, because the verb spends most of its
    time here."""
    epoch = batch.epoch
    kept: tuple[object, ...] = ()
    for offset, timestamp, version, message in entries:
        kind = type(message)
        if kept != (timestamp, version, kind):
            if isinstance(message, Undecodable):
                yield _unreadable_json(offset, epoch, timestamp, version, message)
                continue
            kept = (timestamp, version, kind)
            between = _between(epoch, timestamp, version, message)
        yield f'{{"offset":{offset}{between}{message.json_text(version)}}}'


def _between(epoch: int, timestamp: int, version: int, message: Any) -> str:
    where = f',"epoch":{epoch},"timestamp":{timestamp}'
    if isinstance(message, ControlMessage):
        return f'{where},"control":"{message.TYPE_NAME}","data":'
    return f'{where},"type":"{message.TYPE_NAME}","version":{version},"data":'


def _unreadable_json(
    offset: int, epoch: int, timestamp: int, version: int, message: Undecodable
) -> str:
    if message.lenient is not None:
        between = _between(epoch, timestamp, version, message.lenient)
        return f'{{"offset":{offset}{between}{message.lenient.json_text(version)}}}'
    reason, value = json_string(message.reason), json_bytes(message.value)
    where = f'{{"offset":{offset},"epoch":{epoch},"timestamp":{timestamp}'
    return f'{where},"undecodable":{reason},"value":{value}}}'


def _row(batch: Batch, entry: MessageEntry, show_secrets: bool) -> list[Cell | str]:
    from metalog_sources.moment import time_text

    message = entry.message
    if isinstance(message, Undecodable):  # a message that Kafka refuses can be readable
        message = message.lenient or message
    if isinstance(message, Undecodable):
        kind = Cell("undecodable", "bad")
        text = f"{message.reason}: {b64encode(message.value).decode('ascii')}"
    else:
        is_control = isinstance(message, ControlMessage)
        kind = Cell(message.TYPE_NAME, "name" if is_control else None)
        text = message.json_text(entry.version) if show_secrets else masked(message, entry.version)
    return [
        f"{entry.offset:>6}",
        f"{batch.epoch:>3}",
        Cell(time_text(entry.timestamp), "faint"),
        kind,
        "" if entry.version < 0 else f"v{entry.version}",
        safe(text),
    ]
