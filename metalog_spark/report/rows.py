"""Rows of the pipeline's tables and findings, brought to the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

Row = Mapping[str, Any]
"""By name of the column; times are microseconds since 1970."""


class Rows(NamedTuple):
    """Rows of a finding, or in ``refused`` why there are none. ``found`` counts what there is,
    ``requests`` what it stands for; ``of_teams`` is the same of each team's, where there is any."""

    rows: Sequence[Row] = ()
    found: int = 0
    requests: int = 0
    refused: str = ""
    of_teams: Mapping[str, Rows] = MappingProxyType({})
