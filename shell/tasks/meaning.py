"""Compares the decisions of two sets of ACLs, under one configuration or two.

This module must not know where the sets come from, nor how a difference is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from authorizer.analysis.cells.difference import SetComparison, TypeChange
from authorizer.analysis.cells.meaning import AccessChange, AccessTurn, access_changes

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog.acl import Acl, Operation, ResourceType


class TurnedRequest(NamedTuple):
    """A logged request that would get another answer: ``allowed`` or not."""

    principal: str
    operation: Operation
    kind: ResourceType
    name: str
    allowed: bool


class Meaning(NamedTuple):
    """The differences in decisions between two sets. ``cells`` is the largest number of cells that
    were compared; ``acls`` are in only one of the sets."""

    changes: list[AccessChange]
    by_type: list[TypeChange]
    cells: int
    acls: int

    @property
    def is_none(self) -> bool:
        return not self.changes and not self.by_type


def beside_requests(found: Meaning, turned: Iterable[TurnedRequest]) -> Meaning:
    """``found`` without the changes that one of the ``turned`` requests shows.

    If no gain and no loss is left, nothing is: KEEPS only explains these.
    """
    listed = list(turned)
    changes = [each for each in found.changes if not any(_shows(one, each) for one in listed)]
    if all(each.change is AccessTurn.KEEPS for each in changes):
        changes = []
    return found._replace(changes=changes)


def _shows(turned: TurnedRequest, change: AccessChange) -> bool:
    name = turned.name
    return (
        change.change is (AccessTurn.GAINS if turned.allowed else AccessTurn.LOSES)
        and turned.kind is change.kind
        and turned.operation in change.operations
        and (turned.principal in change.principals or None in change.principals)
        and change.pattern.holds(name)
        and not any(each.pattern.holds(name) for each in change.exceptions)
    )


def meaning(
    before: Collection[Acl],
    after: Collection[Acl],
    config: AuthorizerConfig,
    after_config: AuthorizerConfig | None = None,
) -> Meaning:
    """The requests that are decided differently after the change.

    ``after_config`` decides after it, if that is given. A difference for "any resource of this
    type" is listed only if no name shows it.
    """
    compared = SetComparison(before, after, config, after_config=after_config)
    changes = access_changes(compared)
    differing = len(frozenset(before) ^ frozenset(after))
    return Meaning(changes, list(compared.by_type()), compared.cells, differing)
