"""Writes a share of hours as ``--tolerate`` takes it.

This module must not know which hours are counted.
"""

from __future__ import annotations

from math import ceil, floor, log10
from typing import Final

_DECIMALS: Final = 6


def tolerance(missing: float) -> str:
    """The share as a percentage, rounded up to two significant digits and at most ``_DECIMALS``
    decimals."""
    percent = 100 * missing
    scale = 10.0 ** min(_DECIMALS, 1 - floor(log10(percent)))
    return f"{ceil(percent * scale) / scale:.{_DECIMALS}f}".rstrip("0").rstrip(".") + "%"
