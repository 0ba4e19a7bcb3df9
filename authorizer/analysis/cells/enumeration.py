"""Counts cells before they are decided, and decides each one with the authorizer's engine.

This module must not know what the decisions prove.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from authorizer.analysis.cells.names import NameClass, plain_name
from authorizer.analysis.cells.sessions import Requests, Session, Sessions
from authorizer.engine.decision_cache import DecisionContext
from metalog.errors import InvalidRequest
from metalog.plurals import counted

MOST_CELLS: Final = 50_000_000
"""The most cells, which take about a minute; a proof that needs more is refused at once."""

Plan = list[tuple[Requests, list[Session]]]


class CellAnswer(NamedTuple):
    """A session's allowed operations, as bits, on ``names``; ``name`` is the decided one."""

    session: Session
    names: NameClass
    name: str
    allowed: int


def planned(requests: Iterable[tuple[Requests, Sessions]], most_cells: int = MOST_CELLS) -> Plan:
    """The sessions of each entry; ``InvalidRequest`` if they have more than ``most_cells``."""
    plan: Plan = []
    cells = 0
    for asked, sessions in requests:
        _refuse_more(cells + sessions.least_cells(), most_cells)
        listed: list[Session] = []
        plan.append((asked, listed))
        for session in sessions:
            listed.append(session)
            cells += len(session.names) * asked.operations.bit_count()
            _refuse_more(cells, most_cells)
    return plan


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
        scope = context.scope(kind, (session.clients.client, session.principal))
        for names in sorted(session.names):
            name = plain_name(names, kind, dividing)
            if name is not None:
                yield CellAnswer(session, names, name, scope.allowed_on(name))
