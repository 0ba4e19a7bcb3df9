"""Says in patterns what two sets of ACLs decide differently: who gains what, and who loses it.

A statement joins cells: its prefix stands for all names that begin with it, except those listed as
exceptions. A principal or host that no ACL names stands for all such. A named one has a statement
of its own where its answers differ from theirs. Every statement has a witness: a request that was
asked of both sets. This module must not know how a statement is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from authorizer.analysis.cells.difference import AllowedTurn, CellChange, SetComparison
from authorizer.analysis.cells.names import NameClass, NamePattern
from authorizer.analysis.cells.sessions import Session
from authorizer.trace import Question
from metalog.acl import WILDCARD, Operation, ResourceType

_NO_QUESTION: Final = Question("", Operation.UNKNOWN, ResourceType.UNKNOWN, "")


class AccessTurn(Enum):
    """What becomes of an operation. KEEPS is for those who stay as they are where all others gain
    or lose."""

    GAINS = "gains"
    LOSES = "loses"
    KEEPS = "keeps"


class NameException(NamedTuple):
    """Names of which a statement does not hold, with the answers before and after."""

    pattern: NamePattern
    before: bool
    after: bool


class AccessChange(NamedTuple):
    """``principals`` (None: all whom nothing names) gain, lose or keep ``operations`` from ``host``
    (None: any that nothing names) on all names of ``pattern``, but for ``exceptions``.

    ``before`` and ``after`` are the answers to ``witness``.
    """

    change: AccessTurn
    principals: tuple[str | None, ...]
    host: str | None
    kind: ResourceType
    pattern: NamePattern
    exceptions: tuple[NameException, ...]
    operations: tuple[Operation, ...]
    before: bool
    after: bool
    witness: Question


def access_changes(compared: SetComparison) -> list[AccessChange]:
    """Those of everybody else first, then by principal; none where the sets mean the same."""
    found: list[AccessChange] = []
    for session, cells in compared.compared():
        found += _of_session(session, cells, compared)
    return sorted(_of_several(_of_operations(found)), key=_order)


class _CellTurn(NamedTuple):
    """A cell with one operation and its answers before and after. ``is_own``: it needs a statement,
    since it changes otherwise than a session around it, or changes and there is none around it."""

    change: AccessTurn
    is_own: bool
    before: bool
    after: bool
    name: str


def _of_session(
    session: Session, cells: Sequence[CellChange], compared: SetComparison
) -> Iterator[AccessChange]:
    around = [compared.answers_around(cell) for cell in cells]
    turned = 0
    for cell, others in zip(cells, around, strict=True):
        for before, after in ((cell.before, cell.after), *(each for each, _ in others)):
            turned |= before ^ after
    parents = _parents([cell.names for cell in cells])
    for operation in Operation:
        if turned >> operation & 1:
            places = {
                cell.names: _cell_turn(cell, 1 << operation, others)
                for cell, others in zip(cells, around, strict=True)
            }
            yield from _of_operation(session, operation, places, parents)


def _of_operation(
    session: Session,
    operation: Operation,
    places: Mapping[NameClass, _CellTurn],
    parents: Mapping[NameClass, NameClass | None],
) -> Iterator[AccessChange]:
    """Names are put under the shortest prefix that changes as they do."""
    under: dict[NameClass, NameClass] = {}
    exceptions: dict[NameClass, list[NameException]] = {}
    for names, parent in parents.items():
        place = places[names]
        above = None if parent is None else under.get(parent)
        if above is not None and places[above].change is place.change:
            under[names] = above
            continue
        if above is not None:
            exception = NameException(NamePattern(*names), place.before, place.after)
            exceptions[above].append(exception)
        if place.is_own:
            under[names] = names
            exceptions[names] = []
    for names, others in exceptions.items():
        place = places[names]
        yield AccessChange(
            place.change,
            (session.principal if session.is_named else None,),
            session.clients.host,
            session.kind,
            NamePattern(*names),
            tuple(others),
            (operation,),
            place.before,
            place.after,
            Question(
                session.principal, operation, session.kind, place.name, session.clients.client
            ),
        )


def _cell_turn(
    cell: CellChange, bit: int, others: Iterable[tuple[AllowedTurn, AllowedTurn | None]]
) -> _CellTurn:
    before, after = bool(cell.before & bit), bool(cell.after & bit)
    change = _change(before, after)
    said = [
        _change_of(around, bit)
        for around, unless in others
        if unless is None or _change_of(around, bit) is not _change_of(unless, bit)
    ]
    is_own = any(each is not change for each in said) if said else before is not after
    return _CellTurn(change, is_own, before, after, cell.name)


def _change_of(turn: AllowedTurn, bit: int) -> AccessTurn:
    return _change(bool(turn[0] & bit), bool(turn[1] & bit))


def _change(before: bool, after: bool) -> AccessTurn:
    if before is after:
        return AccessTurn.KEEPS
    return AccessTurn.GAINS if after else AccessTurn.LOSES


def _parents(classes: Iterable[NameClass]) -> dict[NameClass, NameClass | None]:
    """For each the class of the longest prefix that all its names begin with, which stands before
    it; what begins with * is not under all other names, as no wildcard reaches it."""
    found: dict[NameClass, NameClass | None] = {}
    open_prefixes: list[NameClass] = []
    for names in sorted(classes):
        while open_prefixes and not names.name.startswith(open_prefixes[-1].name):
            open_prefixes.pop()
        parent = open_prefixes[-1] if open_prefixes else None
        if parent is not None and not parent.name and names.name.startswith(WILDCARD):
            parent = None
        found[names] = parent
        if not names.is_literal:
            open_prefixes.append(names)
    return found


def _grouped(
    changes: Iterable[AccessChange], common: Callable[[AccessChange], AccessChange]
) -> Iterable[list[AccessChange]]:
    """Changes together that have ``common`` in common, the witness aside."""
    groups: dict[AccessChange, list[AccessChange]] = {}
    for each in changes:
        groups.setdefault(common(each)._replace(witness=_NO_QUESTION), []).append(each)
    return groups.values()


def _of_operations(changes: Iterable[AccessChange]) -> Iterator[AccessChange]:
    """Those that differ in the operation alone as one."""
    for group in _grouped(changes, lambda each: each._replace(operations=())):
        operations = tuple(operation for each in group for operation in each.operations)
        yield group[0]._replace(operations=operations)


def _of_several(changes: Iterable[AccessChange]) -> Iterator[AccessChange]:
    """Those that differ in the principal alone as one; all whom nothing names stay apart."""

    def without_named(each: AccessChange) -> AccessChange:
        return each if each.principals == (None,) else each._replace(principals=())

    for group in _grouped(changes, without_named):
        principals = tuple(principal for each in group for principal in each.principals)
        yield group[0]._replace(principals=principals)


def _order(change: AccessChange) -> tuple[object, ...]:
    principals = ["" if each is None else each for each in change.principals]
    return principals, change.kind, change.pattern, change.host or "", change.change.value
