"""Reads the history of the followed log, and the time up to which the log is known.

Only the last split grows, so each other split is scanned once. This module must not know Spark, nor
what is decided.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metalog_sources.source_kinds import FOLLOWED
from metalog_spark.history.archive import Logs, Unproven
from metalog_spark.history.archive_history import (
    KNOWN,
    ArchiveHistory,
    ScannedSplit,
    check_ends,
    history_of,
    scan,
)
from metalog_spark.history.splits import LogSplit


class FollowedLog:
    """The log that ``text`` names: a SOURCE, or a pattern of folders.

    With ``committed``, records that are not proven to be committed are left out. The quorum can
    truncate such records; decisions based on them would stay.
    """

    def __init__(
        self, text: str, command_config: Path | None = None, *, committed: bool = True
    ) -> None:
        self.text = text
        self.command_config = command_config
        self.committed = committed
        self._logs: Logs | None = None
        self._closed: dict[tuple[int, int], ScannedSplit] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without connections, for a Spark Connect server that runs the batches."""
        return self.__dict__ | {"_logs": None, "_closed": {}}

    def look(self) -> ArchiveHistory:
        """Read the log's new records, and return the whole history.

        Raises:
            CorruptLog: the log is damaged.
        """
        archive = self._opened().look()
        splits = {
            number: part for number, part in enumerate(archive.parts) if isinstance(part, LogSplit)
        }
        scanned = {
            number: self._closed.get((split.start, split.end)) or scan(split)
            for number, split in splits.items()
        }
        growing = max(splits, default=None)
        self._closed = {
            (split.start, split.end): scanned[number]
            for number, split in splits.items()
            if number != growing
        }
        return history_of(archive, scanned, skip_damaged=False)

    def unproven(self) -> Sequence[Unproven]:
        """The logs whose unproven records are left out.

        Raises:
            CorruptLog: the log's end is damaged.
        """
        logs = self._opened()
        archive = logs.look()
        check_ends(archive)
        return logs.unproven()

    def cluster_id(self) -> str | None:
        """The cluster's id in the logs of the last look; None if it is unknown."""
        return self._opened().cluster_id()

    def _opened(self) -> Logs:
        if self._logs is None:
            self._logs = Logs(
                self.text,
                environ=os.environ,
                committed=self.committed,
                command_config=self.command_config,
                kinds=FOLLOWED,
            )
        return self._logs


def known_until_ms(history: ArchiveHistory) -> int | None:
    """The time up to which changes of ACLs are known, or None."""
    ends = (each.end_ms or 0 for each in history.ranges if each.kind == KNOWN)
    return max(ends, default=0) or None
