"""Rows of the pipeline's tables and findings, collected on the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

Row = Mapping[str, Any]
"""A row by column names; times are microseconds since 1970."""


class Rows(NamedTuple):
    """Rows of a finding, or in ``refused`` why there are none. ``found`` counts all rows,
    ``requests`` the requests behind them if these are shown. ``of_teams`` has the same for each
    team."""

    rows: Sequence[Row] = ()
    found: int = 0
    requests: int = 0
    refused: str = ""
    of_teams: Mapping[str, Rows] = MappingProxyType({})
