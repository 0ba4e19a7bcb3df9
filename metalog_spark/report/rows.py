"""Rows of the pipeline's tables and findings, collected on the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

Row = Mapping[str, Any]
"""A row by column names; times are microseconds since 1970."""


class Rows(NamedTuple):
    """Rows of a finding. ``found`` counts all rows. ``requests`` counts the requests behind all
    rows, if the report shows this number. ``refused`` says why the finding could not be computed.
    ``of_teams`` has the rows by team."""

    rows: Sequence[Row] = ()
    found: int = 0
    requests: int = 0
    refused: str = ""
    of_teams: Mapping[str, Rows] = MappingProxyType({})
