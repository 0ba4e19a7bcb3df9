"""Counts cells before they are asked, and asks the authorizer's engine once for each.

This module must not know what the answers prove.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from authorizer.analysis.cells.names import NameClass, plain_name
from authorizer.analysis.cells.sessions import Requests, Session
from authorizer.engine.decision_cache import DecisionContext
from metalog.errors import InvalidRequest
from metalog.plurals import counted

MOST_CELLS: Final = 50_000_000
"""So many cells take about a minute; what needs more is refused before it is begun."""

Plan = list[tuple[Requests, list[Session]]]


class CellAnswer(NamedTuple):
    """``names`` of a session, by the ``name`` of one of them: the operations that are allowed, a
    bit each."""

    session: Session
    names: NameClass
    name: str
    allowed: int


def planned(
    requests: Iterable[tuple[Requests, Iterable[Session]]], most_cells: int = MOST_CELLS
) -> Plan:
    """The sessions of each; ``InvalidRequest`` where they have more than ``most_cells``."""
    plan: Plan = []
    cells = 0
    for asked, sessions in requests:
        listed: list[Session] = []
        plan.append((asked, listed))
        for session in sessions:
            listed.append(session)
            cells += len(session.names) * asked.operations.bit_count()
            if cells > most_cells:
                raise InvalidRequest(
                    f"this needs more than {counted(most_cells, 'cell')}; narrow it to fewer"
                    " resources, to named principals, to one operation or to one host"
                )
    return plan


def cells_of(sessions: Iterable[Session], context: DecisionContext) -> Iterator[CellAnswer]:
    """Asks for each; a class of names that no resource can have is left out."""
    for session in sessions:
        kind, dividing = session.kind, session.dividing
        scope = context.scope(kind, (session.clients.client, session.principal))
        for names in sorted(session.names):
            name = plain_name(names, kind, dividing)
            if name is not None:
                yield CellAnswer(session, names, name, scope.allowed_on(name))
