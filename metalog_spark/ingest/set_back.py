"""Warns that ``--zone`` is probably wrong, because a broker's log goes back in time at a moment
when clocks in this zone are not set back.

This module must not know how such a log is recognized, nor how the warning is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from metalog.text.plurals import counted
from metalog_sources.moment import time_text

SET_BACK: Final = "set_back"
"""The name under which ``Tables.state`` stores a ``SetBack``."""
SetBack = Mapping[str, Sequence[int]]
"""The times at which logs go back, by broker, in microseconds since 1970."""
_MOST: Final = 10


def joined(one: SetBack, other: SetBack) -> dict[str, list[int]]:
    """The first ``_MOST`` times of each broker in ``one`` and ``other``."""
    names = sorted({*one, *other})
    return {name: sorted({*one.get(name, ()), *other.get(name, ())})[:_MOST] for name in names}


def set_back_texts(found: SetBack, start_us: int, end_us: int) -> list[str]:
    """One line if a log goes back in time between ``start_us`` and ``end_us`` (exclusive)."""
    inside = [
        (us, broker) for broker, times in found.items() for us in times if start_us <= us < end_us
    ]
    if not inside:
        return []
    first_us, broker = min(inside)
    others = len({name for _, name in inside}) - 1
    more = f" and of {counted(others, 'other broker')}" if others else ""
    return [
        f"the log of {broker}{more} goes back in time, first at {time_text(first_us // 1000)},"
        " as if clocks were set back: if the lines name no zone, one hour occurs twice, and all"
        " other times can be wrong; build another folder, with the brokers' zone as --zone"
    ]
