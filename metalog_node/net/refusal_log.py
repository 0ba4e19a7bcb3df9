"""Logs why connections were closed, and limits the lines, because strangers must not fill the log.

Each period has a limit for the lines about one address, and a limit for all lines. Further lines
are only counted. At the end of the period, a line states their number and most frequent address.
Only one event loop may use a ``RefusalLog``. This module must not know why connections end.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Final

_log = logging.getLogger(__name__)

PERIOD_S: Final = 10.0
MOST_LINES: Final = 100
"""The maximum number of lines for all addresses in one period."""
MOST_LINES_OF_ADDRESS: Final = 10
_MOST_ADDRESSES: Final = 1024
"""The maximum number of addresses that are counted separately."""


class RefusalLog:
    def __init__(self) -> None:
        self._written: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._period_end: asyncio.TimerHandle | None = None

    def note(self, listener: str, host: str, why: str) -> None:
        if self._period_end is None:
            self._period_end = asyncio.get_running_loop().call_later(PERIOD_S, self.end_period)
        if self._written.total() < MOST_LINES and self._written[host] < MOST_LINES_OF_ADDRESS:
            self._written[host] += 1
            _log.info("%s: %s: connection closed: %s", listener, host, why)
        elif host in self._left_out or len(self._left_out) < _MOST_ADDRESSES:
            self._left_out[host] += 1
        else:
            self._left_out["other addresses"] += 1

    def end_period(self) -> None:
        """Write how many lines were left out, if any."""
        if self._period_end is not None:
            self._period_end.cancel()
            self._period_end = None
        if self._left_out:
            [(host, most)] = self._left_out.most_common(1)
            _log.warning(
                "within %d s, %d more connections were closed without a line, %d of them from %s",
                PERIOD_S,
                self._left_out.total(),
                most,
                host,
            )
        self._written.clear()
        self._left_out.clear()
