"""A bounded queue for lines of the node's or the audit log, so that no write delays a decision.

Another thread writes the queued lines. When the queue is full, new lines are lost and counted, and
a line in the log says how many are missing there.

A line can name its ``source``, such as a client's address. One source can fill at most half of the
queue, so that other sources still have room. This module must not know what the lines say.
"""

from __future__ import annotations

import copy
import logging
from collections import deque
from collections.abc import Hashable
from threading import Condition, Thread
from typing import Final, NamedTuple

MOST_LINES: Final = 50_000
MOST_CHARACTERS: Final = 32 << 20
DRAINED_WITHIN_S: Final = 5.0


class _QueueSize(NamedTuple):
    lines: int = 0
    characters: int = 0

    def plus(self, lines: int, characters: int) -> _QueueSize:
        return _QueueSize(self.lines + lines, self.characters + characters)


class LogQueue(logging.Handler):
    """A logging handler that passes lines to the handler ``sink`` on its own thread.

    ``lost`` is the number of lost lines.
    """

    def __init__(
        self,
        sink: logging.Handler,
        *,
        most_lines: int = MOST_LINES,
        most_characters: int = MOST_CHARACTERS,
    ) -> None:
        super().__init__()
        self.lost = 0
        self._sink = sink
        self._most_lines = most_lines
        self._most_characters = most_characters
        self._lines: deque[tuple[logging.LogRecord, int]] = deque()
        self._all = _QueueSize()
        self._by_source: dict[Hashable, _QueueSize] = {}
        self._gap = 0
        """How many lines were lost after the last queued line."""
        self._is_closed = False
        self._changed = Condition()
        self._thread = Thread(target=self._write_all, name="metalog-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line, or count it as lost if there is no room."""
        line = copy.copy(record)
        line.msg, line.args = record.getMessage(), None
        size = len(line.msg) or 1
        with self._changed:
            if not self._is_closed:
                self._queue(line, size)
                return
        self._sink.handle(line)

    def close(self) -> None:
        """Wait at most ``DRAINED_WITHIN_S`` seconds until the queued lines are written. Later lines
        are written immediately, without the queue."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(DRAINED_WITHIN_S)
        super().close()

    def _queue(self, line: logging.LogRecord, size: int) -> None:
        source = _source(line)
        own = self._by_source.get(source, _QueueSize())
        if not self._has_room(own if source is not None else _QueueSize(), size):
            self.lost += 1
            self._gap += 1
            return
        self._queue_gap()
        self._lines.append((line, size))
        self._all = self._all.plus(1, size)
        self._by_source[source] = own.plus(1, size)
        self._changed.notify()

    def _has_room(self, own: _QueueSize, size: int) -> bool:
        """Whether a line of ``size`` characters fits. ``own`` counts its source's queued lines.

        A source may have at most as many lines as there is free room, so that some room is left
        for other sources.
        """
        return (
            own.lines < self._most_lines - self._all.lines
            and own.characters + size <= self._most_characters - self._all.characters
        )

    def _take(self) -> logging.LogRecord:
        line, size = self._lines.popleft()
        if size:
            source = _source(line)
            self._all = self._all.plus(-1, -size)
            self._by_source[source] = self._by_source[source].plus(-1, -size)
            if not self._by_source[source].lines:
                del self._by_source[source]
        return line

    def _queue_gap(self) -> None:
        if self._gap:
            self._lines.append((_gap_line(self._gap), 0))
            self._gap = 0

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines or self._gap or self._is_closed)
                if not self._lines:
                    self._queue_gap()
                if not self._lines:
                    return
                line = self._take()
            self._sink.handle(line)


def _source(line: logging.LogRecord) -> Hashable:
    """The line's source. A line without a source has only the bounds of the whole queue."""
    return getattr(line, "source", None)


def _gap_line(lost: int) -> logging.LogRecord:
    text = "lines lost here, because they came faster than they could be written: %d"
    return logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, (lost,), None)
