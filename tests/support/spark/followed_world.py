"""A log that is being written and an audit folder that fills, for tests that follow both.

Times are seconds of the first day of 2026. This module must not know what follows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from authorizer.api import Action, RequestContext, ResourcePattern
from authorizer.audit.line import LOGGER, format_line
from authorizer.engine.decide import ALLOWED_BY_DEFAULT, DENIED_BY_DEFAULT
from metalog.acl import Acl, Operation, ResourceType
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.records.acl_codes import record_of
from metalog.records.message import Message
from metalog.records.messages import NoOpRecord, RemoveAccessControlEntryRecord
from tests.support.disk.tiny_log import uuid
from tests.support.disk.written_log import formatted
from tests.support.worlds.small_acls import allow

BEGIN_MS = round(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
READ_T = allow("t", principal="User:app")


def time_ms(second: float) -> int:
    return BEGIN_MS + round(second * 1000)


class WrittenLog:
    """The log of a stopped node; each call starts its writer once."""

    def __init__(self, folder: Path) -> None:
        self.folder = formatted(folder, dynamic=False)

    def append(self, second: float, *records: Message) -> None:
        writer = WritableDirectoryLog(self.folder, voters=[1], now_ms=lambda: time_ms(second))
        try:
            writer.append(writer.claim(), [(record, 0) for record in records])
        finally:
            writer.close()

    def bind(self, second: float, number: int, acl: Acl) -> None:
        self.append(second, record_of(uuid(number), acl))

    def unbind(self, second: float, number: int) -> None:
        self.append(second, RemoveAccessControlEntryRecord(uuid(number)))

    def goes_on(self, second: float) -> None:
        self.append(second, NoOpRecord())


def line(second: float, principal: str, *, allowed: bool, name: str = "t") -> str:
    decision = ALLOWED_BY_DEFAULT if allowed else DENIED_BY_DEFAULT
    text = format_line(
        RequestContext(principal, "10.0.0.1", request_name="Fetch"),
        Action(Operation.READ, ResourcePattern(ResourceType.TOPIC, name)),
        decision,
    )
    moment = datetime.fromtimestamp(time_ms(second) / 1000, UTC)
    stamp = moment.strftime("%Y-%m-%d %H:%M:%S,") + f"{moment.microsecond // 1000:03d}"
    return f"[{stamp}] {'DEBUG' if allowed else 'INFO'} {text} ({LOGGER})\n"


def appears(folder: Path, name: str, lines: Iterable[str]) -> None:
    """Move a finished file into ``folder``, one second younger than the file before it.

    Spark takes the oldest file first, and files of the same millisecond in any order.
    """
    folder.mkdir(parents=True, exist_ok=True)
    part = folder.parent / f"{name}.part"
    part.write_text("".join(lines), encoding="utf-8")
    age_s = time.time() - 3600 + len(list(folder.iterdir()))
    os.utime(part, (age_s, age_s))
    part.rename(folder / name)
