"""Counts cells, and then decides each cell with the authorizer's engine.

This module must not know what the decisions prove.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from authorizer.analysis.cells.names import NameClass, plain_name
from authorizer.analysis.cells.sessions import Requests, Session, Sessions
from authorizer.engine.cache.decision_cache import DecisionContext
from metalog.errors import InvalidRequest
from metalog.text.plurals import counted

MOST_CELLS: Final = 50_000_000
"""A proof with more cells is refused, because such a proof takes some minutes."""

_MOST_KEPT: Final = 1_000_000
"""A plan keeps at most this many classes of names (approximately 100 MB); others are computed again
to decide their cells."""


class CellPlan(NamedTuple):
    sessions: list[tuple[Requests, Iterable[Session]]]
    cells: int


class CellAnswer(NamedTuple):
    """A session's allowed operations on ``names``, as bits, decided on ``name``."""

    session: Session
    names: NameClass
    name: str
    allowed: int


def planned(
    requests: Iterable[tuple[Requests, Sessions]], most_cells: int = MOST_CELLS
) -> CellPlan:
    """Count the cells of ``requests``; raises ``InvalidRequest`` for more than ``most_cells``."""
    plan: list[tuple[Requests, Iterable[Session]]] = []
    cells = kept = 0
    for entry, sessions in requests:
        _refuse_more(cells + sessions.least_cells(), most_cells)
        listed: list[Session] = []
        classes = 0
        for session in sessions:
            classes += len(session.names)
            if kept + classes <= _MOST_KEPT:
                listed.append(session)
            else:
                listed.clear()
            _refuse_more(cells + classes * entry.operations.bit_count(), most_cells)
        cells += classes * entry.operations.bit_count()
        is_kept = kept + classes <= _MOST_KEPT
        kept += classes if is_kept else 0
        plan.append((entry, listed if is_kept else sessions))
    return CellPlan(plan, cells)


def _refuse_more(cells: int, most_cells: int) -> None:
    if cells > most_cells:
        raise InvalidRequest(
            f"this needs more than {counted(most_cells, 'cell')}; narrow it to fewer"
            " resources, to named principals, to one operation or to one host"
        )


def cells_of(sessions: Iterable[Session], context: DecisionContext) -> Iterator[CellAnswer]:
    """The decided cells; a class without a valid resource name is left out."""
    for session in sessions:
        kind, dividing = session.kind, session.dividing
        cache = context.session_cache(kind, (session.clients.client, session.principal))
        for names in sorted(session.names):
            name = plain_name(names, kind, dividing)
            if name is not None:
                yield CellAnswer(session, names, name, cache.allowed_on(name))
