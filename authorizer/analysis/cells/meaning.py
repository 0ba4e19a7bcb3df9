"""Describes, by patterns, the operations that principals gain or lose between two sets of ACLs.

A statement (``AccessChange``) joins cells with the same change. A principal or host that an ACL
names has its own statement only if its change differs from the change of a broader session. Every
statement has a witness: one request, with the decision of each set. This module must not know how a
statement is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from authorizer.analysis.cells.difference import BeforeAfter, ComparedCell, SetComparison
from authorizer.analysis.cells.names import NameClass, NamePattern
from authorizer.analysis.cells.sessions import Session
from authorizer.trace import Question
from metalog.acl import WILDCARD, Operation, ResourceType
from metalog.grouping import grouped

_NO_QUESTION: Final = Question("", Operation.UNKNOWN, ResourceType.UNKNOWN, "")


class AccessChangeKind(Enum):
    """The change of an operation. KEEPS: no change, unlike in a broader session."""

    GAINS = "gains"
    LOSES = "loses"
    KEEPS = "keeps"


class NameException(NamedTuple):
    """Names to which a statement does not apply, with their decisions."""

    pattern: NamePattern
    before: bool
    after: bool


class AccessChange(NamedTuple):
    """``principals`` gain, lose or keep ``operations`` from ``host`` on the names of ``pattern``.

    Names in ``exceptions`` are left out. The empty prefix stands for all names that do not begin
    with ``*``. None stands for all principals or hosts that no ACL names. ``before`` and ``after``
    are the decisions on ``witness``.
    """

    change: AccessChangeKind
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
    """The statements; none if the sets are equivalent.

    Statements about principals that no ACL names come first.
    """
    changes: list[AccessChange] = []
    for session, cells in compared.compared():
        changes += _session_changes(session, cells, compared)
    return sorted(_principals_joined(_operations_joined(changes)), key=_order)


class _OperationChange(NamedTuple):
    """A cell's change of one operation.

    ``needs_statement``: the statements about broader sessions do not tell this change.
    """

    change: AccessChangeKind
    needs_statement: bool
    before: bool
    after: bool
    name: str


def _session_changes(
    session: Session, cells: Sequence[ComparedCell], compared: SetComparison
) -> Iterator[AccessChange]:
    around = [compared.answers_around(cell) for cell in cells]
    changed = 0
    for cell, others in zip(cells, around, strict=True):
        for before, after in ((cell.before, cell.after), *(each for each, _ in others)):
            changed |= before ^ after
    parents = _parents([cell.names for cell in cells])
    for operation in Operation:
        if changed >> operation & 1:
            changes = {
                cell.names: _operation_change(cell, 1 << operation, others)
                for cell, others in zip(cells, around, strict=True)
            }
            yield from _operation_statements(session, operation, changes, parents)


def _operation_statements(
    session: Session,
    operation: Operation,
    changes: Mapping[NameClass, _OperationChange],
    parents: Mapping[NameClass, NameClass | None],
) -> Iterator[AccessChange]:
    """The statements about one operation. A class whose change differs from that of its parent is
    an exception of the parent's statement."""
    statement_of: dict[NameClass, NameClass] = {}
    exceptions: dict[NameClass, list[NameException]] = {}
    for names, parent in parents.items():
        own = changes[names]
        above = None if parent is None else statement_of.get(parent)
        if above is not None and changes[above].change is own.change:
            statement_of[names] = above
            continue
        if above is not None:
            exception = NameException(NamePattern(*names), own.before, own.after)
            exceptions[above].append(exception)
        if own.needs_statement:
            statement_of[names] = names
            exceptions[names] = []
    for names, others in exceptions.items():
        own = changes[names]
        yield AccessChange(
            own.change,
            (session.principal if session.is_named else None,),
            session.clients.host,
            session.kind,
            NamePattern(*names),
            tuple(others),
            (operation,),
            own.before,
            own.after,
            session.question(1 << operation, own.name),
        )


def _operation_change(
    cell: ComparedCell, bit: int, others: Iterable[tuple[BeforeAfter, BeforeAfter | None]]
) -> _OperationChange:
    before, after = bool(cell.before & bit), bool(cell.after & bit)
    change = _change(before, after)
    around_changes = [
        _change_of(around, bit)
        for around, unless in others
        if unless is None or _change_of(around, bit) is not _change_of(unless, bit)
    ]
    needs_statement = (
        any(each is not change for each in around_changes)
        if around_changes
        else before is not after
    )
    return _OperationChange(change, needs_statement, before, after, cell.name)


def _change_of(operations: BeforeAfter, bit: int) -> AccessChangeKind:
    return _change(bool(operations[0] & bit), bool(operations[1] & bit))


def _change(before: bool, after: bool) -> AccessChangeKind:
    if before is after:
        return AccessChangeKind.KEEPS
    return AccessChangeKind.GAINS if after else AccessChangeKind.LOSES


def _parents(classes: Iterable[NameClass]) -> dict[NameClass, NameClass | None]:
    """The parent of each class: the class of the longest prefix of its names. Parents come first.

    The empty prefix is not a parent of names that begin with ``*``.
    """
    parents: dict[NameClass, NameClass | None] = {}
    open_prefixes: list[NameClass] = []
    for names in sorted(classes):
        while open_prefixes and not names.name.startswith(open_prefixes[-1].name):
            open_prefixes.pop()
        parent = open_prefixes[-1] if open_prefixes else None
        if parent is not None and not parent.name and names.name.startswith(WILDCARD):
            parent = None
        parents[names] = parent
        if not names.is_literal:
            open_prefixes.append(names)
    return parents


def _operations_joined(changes: Iterable[AccessChange]) -> Iterator[AccessChange]:
    alike = grouped(changes, lambda each: each._replace(operations=(), witness=_NO_QUESTION))
    for group in alike.values():
        operations = tuple(operation for each in group for operation in each.operations)
        yield group[0]._replace(operations=operations)


def _principals_joined(changes: Iterable[AccessChange]) -> Iterator[AccessChange]:
    def without_named(each: AccessChange) -> AccessChange:
        principals = each.principals if each.principals == (None,) else ()
        return each._replace(principals=principals, witness=_NO_QUESTION)

    for group in grouped(changes, without_named).values():
        principals = tuple(principal for each in group for principal in each.principals)
        yield group[0]._replace(principals=principals)


def _order(change: AccessChange) -> tuple[object, ...]:
    principals = ["" if each is None else each for each in change.principals]
    return principals, change.kind, change.pattern, change.host or "", change.change.value
