"""The log that is followed: what it says of ACLs now, and up to when that is known.

Only the last piece of it grows, so the others are scanned once. This module must not know
Spark, nor what is decided.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeGuard

from metalog_spark.archive import Hole, Logs, Piece
from metalog_spark.history import KNOWN, History, Scanned, history_of, scan


class FollowedLog:
    """The log that ``text`` names, a SOURCE or a pattern of folders."""

    def __init__(self, text: str, command_config: Path | None = None) -> None:
        self._text = text
        self._command_config = command_config
        self._logs: Logs | None = None
        self._closed: dict[tuple[int, int], Scanned] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without connections, for a server that runs the batches."""
        return self.__dict__ | {"_logs": None, "_closed": {}}

    def look(self) -> History:
        """``CorruptLog`` where it is damaged: nothing is decided by half of a log."""
        if self._logs is None:
            self._logs = Logs(self._text, environ=os.environ, command_config=self._command_config)
        archive = self._logs.look()
        pieces = {number: part for number, part in enumerate(archive.parts) if _is_piece(part)}
        scanned = {number: self._scan(piece) for number, piece in pieces.items()}
        growing = max(pieces, default=None)
        self._closed = {
            (piece.start, piece.end): scanned[number]
            for number, piece in pieces.items()
            if number != growing
        }
        return history_of(archive, scanned, skip_damaged=False)

    def _scan(self, piece: Piece) -> Scanned:
        return self._closed.get((piece.start, piece.end)) or scan(piece)


def known_until_ms(history: History) -> int | None:
    """The time of the last record, up to which nothing of ACLs is hidden but by the clocks."""
    return max((each.end_ms or 0 for each in history.stretches if each.kind == KNOWN), default=None)


def _is_piece(part: Piece | Hole) -> TypeGuard[Piece]:
    return isinstance(part, Piece)
