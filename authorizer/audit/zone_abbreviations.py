"""Knows the abbreviations of time zones, such as ``CEST``, that Java writes.

For some zones, Java has an abbreviation and the time zone database has only an offset. This module
must not know a line's layout.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

_HOURS_IN_JAVA: Final = {
    "WET": 0, "WEST": 1, "EET": 3, "EEST": 3, "MSK": 3, "IST": 5.5, "SGT": 8, "BST": 11, "PST": -8,
}  # fmt: skip
"""The abbreviations of zones without one in the time zone database, such as Asia/Amman, and the
hours by which these zones are ahead of UTC."""


def is_called(abbreviation: str, time: datetime) -> bool:
    """Whether clocks in the zone of ``time`` have ``abbreviation`` then."""
    name, hours = str(time.tzname()), _HOURS_IN_JAVA.get(abbreviation)
    if name[:1].isalpha() or hours is None:
        return name == abbreviation
    return time.utcoffset() == timedelta(hours=hours)
