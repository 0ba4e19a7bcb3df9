"""Proves that a change of ACLs newly allows only the stated requests, and finds unplanned denials.

This module must not know where a change comes from, nor how a proof is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from authorizer.analysis.cells.difference import BY_TYPE, SetComparison
from authorizer.analysis.cells.sessions import Requests
from authorizer.config import AuthorizerConfig
from authorizer.trace import Question
from metalog.acl import Acl


class GainProof(NamedTuple):
    """``cells`` is an upper bound of the number of compared cells.

    ``witnesses`` has one newly allowed, unstated request for each session and class of names.
    """

    cells: int
    witnesses: tuple[Question, ...]


def prove_gains(
    before: Collection[Acl],
    after: Collection[Acl],
    config: AuthorizerConfig,
    stated: Sequence[Requests] = (),
) -> GainProof:
    """Find requests that ``before`` denies, ``after`` allows, and ``stated`` does not have."""
    compared = SetComparison(before, after, config, separate=stated)
    witnesses = list(_gains(compared, stated))
    return GainProof(compared.cells, tuple(witnesses))


def _gains(compared: SetComparison, stated: Sequence[Requests]) -> Iterator[Question]:
    for cell in compared.differences():
        gained = cell.after & ~cell.before
        for each in stated:
            if gained and cell.is_in(each):
                gained &= ~each.operations
        if gained:
            yield cell.session.question(gained, cell.name)
    operation, kind = BY_TYPE
    for change in compared.by_type():
        is_stated = any(
            each.kind is kind
            and each.operations >> operation & 1
            and each.holds_session(change.session)
            for each in stated
        )
        if change.allowed and not is_stated:
            yield change.session.question(1 << operation, "")


def unplanned_losses(
    now: Collection[Acl],
    then: Collection[Acl],
    planned: tuple[Collection[Acl], Collection[Acl]],
    config: AuthorizerConfig,
) -> Iterator[Question]:
    """The requests that the change from ``now`` to ``then`` newly denies.

    Requests that the ``planned`` change (ACLs before, ACLs after) newly denies, too, are left out.
    """
    compared = SetComparison(now, then, config, other_acls=(*planned[0], *planned[1]))
    before, after = (compared.answers_by(acls) for acls in planned)
    for cell in compared.differences():
        lost = cell.before & ~cell.after
        if lost and (lost := lost & ~(before(cell) & ~after(cell))):
            yield cell.session.question(lost, cell.name)
