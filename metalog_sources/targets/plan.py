"""Computes the changes that give a target the wanted ACLs, in a safe order.

A plan adds DENYs, adds ALLOWs, removes ALLOWs, removes DENYs, in this order. So no state in between
allows a request that both the old and the new state deny. A plan removes ACLs only on request, and
only ACLs that the wanted files own. Pure. This module must not know where ACLs come from, nor how
a change is made.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from enum import Enum
from itertools import chain
from typing import Final, NamedTuple

from metalog.acl import (
    ACL_KEYS,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    acl_fields,
)
from metalog.text.whole_numbers import whole_number
from metalog_sources.formats.document import (
    NO_NOTES,
    AclNotes,
    Document,
    Own,
    acl_order,
    in_order,
    is_owned,
)
from metalog_sources.formats.nodes.json_nodes import json_values
from metalog_sources.formats.nodes.nodes import Fields, Node, fault, fields_of, items_of, text_of
from metalog_sources.formats.nodes.rules import NOTE_KEYS, own_fields, read_own, read_rule

VERSION: Final = "4"
"""The format version of saved plans."""
SAVED_BEGINNING: Final = b'{"metalogPlan"'
_SAVED_KEYS: Final = (
    "metalogPlan",
    "target",
    "superUsers",
    "allowEveryone",
    "kafkaVersion",
    "owns",
    "before",
    "steps",
)
_PROOF_KEYS: Final = ("onlyGain", "cells")


class ChangeKind(Enum):
    ADD = "add"
    REMOVE = "remove"


_PHASES: Final = (
    (ChangeKind.ADD, PermissionType.DENY),
    (ChangeKind.ADD, PermissionType.ALLOW),
    (ChangeKind.REMOVE, PermissionType.ALLOW),
    (ChangeKind.REMOVE, PermissionType.DENY),
)


class PlanStep(NamedTuple):
    change: ChangeKind
    acl: Acl
    notes: AclNotes = NO_NOTES


class Plan(NamedTuple):
    """Unwanted ACLs stay in the target: ``unowned`` because no file owns them, ``unpruned`` because
    nobody requested their removal."""

    steps: tuple[PlanStep, ...]
    unowned: tuple[Acl, ...] = ()
    unpruned: tuple[Acl, ...] = ()
    owns: tuple[Own, ...] = ()

    @property
    def removals(self) -> int:
        return sum(step.change is ChangeKind.REMOVE for step in self.steps)


def make_plan(current: Collection[Acl], wanted: Document, *, prune: bool) -> Plan:
    wanted_acls = set(wanted.acls)
    current_acls = set(current)
    steps = [
        PlanStep(ChangeKind.ADD, entry.acl, entry.notes)
        for entry in in_order(wanted.entries)
        if entry.acl not in current_acls
    ]
    unwanted = sorted(current_acls - wanted_acls, key=acl_order)
    owned = [acl for acl in unwanted if is_owned(acl, wanted.owns)]
    unowned = tuple(sorted(set(unwanted).difference(owned), key=acl_order))
    if prune:
        steps += [PlanStep(ChangeKind.REMOVE, acl) for acl in owned]
    unpruned = () if prune else tuple(owned)
    return Plan(tuple(chain.from_iterable(phases(steps))), unowned, unpruned, wanted.owns)


def phases(steps: Sequence[PlanStep]) -> list[list[PlanStep]]:
    """Groups of steps, in the order to apply. Steps of a group may share a request."""
    groups = [
        [step for step in steps if (step.change, step.acl.permission_type) == phase]
        for phase in _PHASES
    ]
    return [phase for phase in groups if phase]


def after(current: Iterable[Acl], steps: Iterable[PlanStep]) -> set[Acl]:
    """The ACLs after all ``steps``."""
    acls = set(current)
    for step in steps:
        if step.change is ChangeKind.ADD:
            acls.add(step.acl)
        else:
            acls.discard(step.acl)
    return acls


class PlanProof(NamedTuple):
    """Proves that ``claims`` (of ``--only-gain``, as YAML) cover all requests that a plan newly
    allows. At most ``cells`` cells were compared."""

    claims: tuple[str, ...]
    cells: int


class SavedPlan(NamedTuple):
    """A plan with the state for which it was made.

    ``before`` has the target's ACLs that the plan's files own (``owns``), and those that reach a
    resource of a step. ``super_users``, ``allow_everyone`` and ``kafka_version`` are the
    configuration.
    """

    target: str
    super_users: tuple[str, ...]
    allow_everyone: bool
    kafka_version: str
    owns: tuple[Own, ...]
    before: tuple[Acl, ...]
    steps: tuple[PlanStep, ...]
    proof: PlanProof | None = None

    @property
    def added(self) -> frozenset[Acl]:
        return frozenset(step.acl for step in self.steps if step.change is ChangeKind.ADD)

    @property
    def removed(self) -> frozenset[Acl]:
        return frozenset(step.acl for step in self.steps if step.change is ChangeKind.REMOVE)


def saved(
    target: str,
    reached: Iterable[Acl],
    current: Iterable[Acl],
    plan: Plan,
    *,
    super_users: Iterable[str] = (),
    allow_everyone: bool = False,
    kafka_version: str = "4.3",
) -> SavedPlan:
    """``reached`` are the ACLs that reach a resource of a step, ``current`` all ACLs."""
    owned = (acl for acl in current if is_owned(acl, plan.owns))
    before = tuple(sorted({*reached, *owned}, key=acl_order))
    users = tuple(sorted(super_users))
    return SavedPlan(target, users, allow_everyone, kafka_version, plan.owns, before, plan.steps)


def remaining(plan: SavedPlan, current: Collection[Acl]) -> list[PlanStep]:
    """The steps that no earlier, interrupted run has applied."""
    current_acls = set(current)
    return [
        step
        for step in plan.steps
        if (step.acl in current_acls) is (step.change is ChangeKind.REMOVE)
    ]


def write_saved(plan: SavedPlan) -> str:
    """JSON with a line for each step, ACL and ``owns`` entry."""
    fields = {
        "metalogPlan": VERSION,
        "target": plan.target,
        "superUsers": plan.super_users,
        "allowEveryone": str(plan.allow_everyone).lower(),
        "kafkaVersion": plan.kafka_version,
    }
    head = json.dumps(fields, separators=(",", ":"))
    lists = {
        "owns": map(dict, map(own_fields, plan.owns)),
        "before": map(acl_fields, plan.before),
        "steps": map(step_fields, plan.steps),
    }
    proof = ""
    if plan.proof is not None:
        proof_fields = {"onlyGain": plan.proof.claims, "cells": str(plan.proof.cells)}
        proof = f',"proof":{json.dumps(proof_fields)}'
    body = "".join(f',"{key}":{_list(items)}' for key, items in lists.items())
    return f"{head[:-1]}{proof}{body}}}\n"


def _list(items: Iterable[object]) -> str:
    lines = [json.dumps(item, separators=(",", ":")) for item in items]
    return "[\n" + ",\n".join(lines) + "]" if lines else "[]"


def step_fields(step: PlanStep) -> dict[str, str]:
    """The step with the keys of ``plan --json``."""
    notes = zip(NOTE_KEYS, step.notes, strict=True)
    return (
        {"change": step.change.value}
        | acl_fields(step.acl)
        | {key: note for key, note in notes if note is not None}
    )


def read_saved(text: str, file: str) -> SavedPlan | None:
    """The plan in ``text``, the content of ``file``; None if ``text`` is other JSON."""
    node = next(json_values(text, file), None)
    if not isinstance(node, Fields) or _SAVED_KEYS[0] not in {key.value for key, _ in node.pairs}:
        return None
    version = text_of(fields_of(node, "a saved plan", None)[_SAVED_KEYS[0]], _SAVED_KEYS[0])
    if version != VERSION:
        raise fault(
            node.position,
            f"a saved plan of version {version}, but this metalog reads version {VERSION}; make a "
            "new one with metalog plan --save",
        )
    fields = fields_of(node, "a saved plan", (*_SAVED_KEYS, "proof"))
    for key in _SAVED_KEYS:
        if key not in fields:
            raise fault(node.position, f"a saved plan lacks the key {key}")
    return SavedPlan(
        text_of(fields["target"], "target"),
        tuple(text_of(user, "superUsers") for user in items_of(fields["superUsers"], "superUsers")),
        _read_boolean(fields["allowEveryone"], "allowEveryone"),
        text_of(fields["kafkaVersion"], "kafkaVersion"),
        tuple(map(_read_own, items_of(fields["owns"], "owns"))),
        tuple(map(_read_acl, items_of(fields["before"], "before"))),
        tuple(map(_read_step, items_of(fields["steps"], "steps"))),
        _read_proof(fields["proof"]) if "proof" in fields else None,
    )


def _read_proof(node: Node) -> PlanProof:
    fields = fields_of(node, "a proof", None)
    if fields.keys() != {*_PROOF_KEYS}:
        raise fault(
            node.position,
            "a proof of another version of metalog; make a new plan with metalog plan --save",
        )
    cells = whole_number(text_of(fields["cells"], "cells"))
    if cells is None:
        raise fault(fields["cells"].position, "cells must be a whole number")
    claims = tuple(text_of(claim, "onlyGain") for claim in items_of(fields["onlyGain"], "onlyGain"))
    return PlanProof(claims, cells)


def _read_boolean(node: Node, key: str) -> bool:
    text = text_of(node, key)
    if text not in ("true", "false"):
        raise fault(node.position, f"{key} is {text}; write true or false")
    return text == "true"


def _read_own(node: Node) -> Own:
    owns = read_own(node)
    if len(owns) != 1:
        raise fault(node.position, "an entry of owns in a saved plan must not have lists")
    return owns[0]


def _read_acl(node: Node, others: Sequence[str] = ()) -> Acl:
    """An ACL that the target had, even if Kafka would refuse to create it. The keys ``others`` are
    ignored."""
    fields = fields_of(node, "an ACL", (*ACL_KEYS, *others))
    for key in ACL_KEYS:
        if key not in fields:
            raise fault(node.position, f"an ACL lacks the key {key}")
    words = {key: text_of(fields[key], key) for key in ACL_KEYS}
    try:
        return Acl(
            ResourceType[words["resourceType"]],
            words["resourceName"],
            PatternType[words["patternType"]],
            words["principal"],
            words["host"],
            Operation[words["operation"]],
            PermissionType[words["permissionType"]],
        )
    except KeyError as error:
        raise fault(node.position, f"not a word of Kafka's ACLs: {error}") from None


def _read_step(node: Node) -> PlanStep:
    keys = ("change", *NOTE_KEYS)
    fields = fields_of(node, "a step", (*keys, *ACL_KEYS))
    if "change" not in fields:
        raise fault(node.position, "a step lacks the key change")
    change = text_of(fields["change"], "change")
    if change not in (ChangeKind.ADD.value, ChangeKind.REMOVE.value):
        raise fault(fields["change"].position, f"a change is add or remove, not {change!r}")
    if change == ChangeKind.REMOVE.value:
        return PlanStep(ChangeKind.REMOVE, _read_acl(node, keys))
    entries = read_rule(node, ignored=("change",))
    if len(entries) != 1:
        raise fault(node.position, "a step is one ACL, without lists")
    return PlanStep(ChangeKind.ADD, entries[0].acl, entries[0].notes)
