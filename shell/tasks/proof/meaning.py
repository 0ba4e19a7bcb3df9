"""Compares the decisions of two sets of ACLs, under one configuration or two.

This module must not know where the sets come from, nor how a difference is shown.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from authorizer.analysis.cells.difference import SetComparison, TypeChange
from authorizer.analysis.cells.meaning import AccessChange, access_changes

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog.acl import Acl


class Meaning(NamedTuple):
    """The differences in decisions between two sets. At most ``cells`` cells were compared.
    ``differing`` is the number of ACLs in only one set."""

    changes: list[AccessChange]
    by_type: list[TypeChange]
    cells: int
    differing: int

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.by_type


def meaning(
    before: Collection[Acl],
    after: Collection[Acl],
    config: AuthorizerConfig,
    after_config: AuthorizerConfig | None = None,
) -> Meaning:
    """The requests that are decided differently after the change.

    ``after_config`` is the configuration after the change (None: ``config``). A difference for
    "any topic" can be missing if a named topic shows a difference.
    """
    compared = SetComparison(before, after, config, after_config=after_config)
    changes = access_changes(compared)
    differing = len(frozenset(before) ^ frozenset(after))
    return Meaning(changes, list(compared.by_type()), compared.cells, differing)
