"""What would have to change for a target to hold what is wanted: a pure diff, in a safe order.

DENYs are added first, then ALLOWs; ALLOWs are removed, then DENYs, last: at no moment is
allowed what neither the state before nor the one after allows. Nothing is removed unless
it is asked for, and then only what the wanted files own. This module must not know where
ACLs come from, nor how a change is made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple

from metalog.acl import ACL_KEYS, Acl, PermissionType, acl_fields
from metalog.errors import InvalidRequest
from snapshot.exchange.formats.document import NO_NOTES, Document, Notes, acl_order, in_order
from snapshot.exchange.formats.json_nodes import json_values
from snapshot.exchange.formats.nodes import Fields, Node, fault, fields_of, items_of, text_of
from snapshot.exchange.formats.rules import NOTE_KEYS, read_rule

VERSION: Final = "1"
SAVED_BEGINNING: Final = b'{"metalogPlan"'
"""Of a saved plan as it is written here."""
_SAVED_KEYS: Final = ("metalogPlan", "target", "before", "steps")


class Change(Enum):
    ADD = "add"
    REMOVE = "remove"


_PHASES: Final = (
    (Change.ADD, PermissionType.DENY),
    (Change.ADD, PermissionType.ALLOW),
    (Change.REMOVE, PermissionType.ALLOW),
    (Change.REMOVE, PermissionType.DENY),
)


class Step(NamedTuple):
    change: Change
    acl: Acl
    notes: Notes = NO_NOTES


class Plan(NamedTuple):
    """``kept`` are ACLs of the target that nobody wants and that stay: ``unowned`` because no
    file owns them, ``unpruned`` because their removal was not asked for."""

    steps: tuple[Step, ...]
    unowned: tuple[Acl, ...] = ()
    unpruned: tuple[Acl, ...] = ()

    @property
    def removals(self) -> int:
        return sum(step.change is Change.REMOVE for step in self.steps)


def make_plan(current: Collection[Acl], wanted: Document, *, prune: bool) -> Plan:
    """The steps from ``current`` to what is wanted, in the order in which to take them."""
    wanted_acls = set(wanted.acls)
    held = set(current)
    steps = [
        Step(Change.ADD, entry.acl, entry.notes)
        for entry in in_order(wanted.entries)
        if entry.acl not in held
    ]
    spare = sorted(held - wanted_acls, key=acl_order)
    owned = [acl for acl in spare if any(own.covers(acl) for own in wanted.owns)]
    unowned = tuple(acl for acl in spare if acl not in set(owned))
    if prune:
        steps += [Step(Change.REMOVE, acl) for acl in owned]
    return Plan(tuple(_in_phases(steps)), unowned, () if prune else tuple(owned))


def _in_phases(steps: Sequence[Step]) -> Iterator[Step]:
    for phase in phases(steps):
        yield from phase


def phases(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps that may be taken together, in the order of the phases; none is empty."""
    found = [
        [step for step in steps if (step.change, step.acl.permission_type) == phase]
        for phase in _PHASES
    ]
    return [phase for phase in found if phase]


def after(current: Iterable[Acl], steps: Iterable[Step]) -> set[Acl]:
    """The ACLs once ``steps`` are taken."""
    acls = set(current)
    for step in steps:
        if step.change is Change.ADD:
            acls.add(step.acl)
        else:
            acls.discard(step.acl)
    return acls


class SavedPlan(NamedTuple):
    """``before`` stands for all the ACLs that the target had when the plan was made."""

    target: str
    before: str
    steps: tuple[Step, ...]


def saved(target: str, current: Iterable[Acl], plan: Plan) -> SavedPlan:
    return SavedPlan(target, fingerprint(current), plan.steps)


def fingerprint(acls: Iterable[Acl]) -> str:
    """The same for equal sets of ACLs, and for no others."""
    lines = [json.dumps(acl_fields(acl)) for acl in sorted(set(acls), key=acl_order)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def remaining(plan: SavedPlan, current: Collection[Acl]) -> list[Step]:
    """The steps that are still to be taken; ``InvalidRequest`` if something else has changed.

    Steps that were taken by an interrupted run are no change: with them undone, the target
    is what it was.
    """
    added = {step.acl for step in plan.steps if step.change is Change.ADD}
    removed = {step.acl for step in plan.steps if step.change is Change.REMOVE}
    held = set(current)
    if fingerprint((held - added) | removed) != plan.before:
        raise InvalidRequest(
            "the target has changed since this plan was made; make a new one with metalog plan"
        )
    return [step for step in plan.steps if (step.acl in held) is (step.change is Change.REMOVE)]


def write_saved(plan: SavedPlan) -> str:
    """A plan as JSON, a line for each step."""
    head = {"metalogPlan": VERSION, "target": plan.target, "before": plan.before}
    text = json.dumps(head, separators=(",", ":"))[:-1] + ',"steps":['
    lines = [json.dumps(step_fields(step), separators=(",", ":")) for step in plan.steps]
    return text + "\n" + ",\n".join(lines) + "]}\n"


def step_fields(step: Step) -> dict[str, str]:
    """The step in the keys of ``plan --json``."""
    notes = zip(NOTE_KEYS, step.notes, strict=True)
    return (
        {"change": step.change.value}
        | acl_fields(step.acl)
        | {key: note for key, note in notes if note is not None}
    )


def read_saved(text: str, file: str) -> SavedPlan | None:
    """The plan that a file holds; None where it holds something else."""
    node = next(json_values(text, file), None)
    if not isinstance(node, Fields) or _SAVED_KEYS[0] not in {key.value for key, _ in node.pairs}:
        return None
    found = fields_of(node, "a saved plan", _SAVED_KEYS)
    for key in _SAVED_KEYS:
        if key not in found:
            raise fault(node.place, f"a saved plan has no {key}")
    version = text_of(found["metalogPlan"], "metalogPlan")
    if version != VERSION:
        raise fault(found["metalogPlan"].place, f"a plan of version {version}; make a new one")
    steps = tuple(map(_read_step, items_of(found["steps"], "steps")))
    return SavedPlan(text_of(found["target"], "target"), text_of(found["before"], "before"), steps)


def _read_step(node: Node) -> Step:
    found = fields_of(node, "a step", ("change", *ACL_KEYS, *NOTE_KEYS))
    if "change" not in found:
        raise fault(node.place, "a step has no change")
    change = text_of(found["change"], "change")
    if change not in (Change.ADD.value, Change.REMOVE.value):
        raise fault(found["change"].place, f"a change is add or remove, not {change!r}")
    entries = read_rule(node, ignored=("change",))
    if len(entries) != 1:
        raise fault(node.place, "a step is one ACL, without lists")
    return Step(Change(change), entries[0].acl, entries[0].notes)
