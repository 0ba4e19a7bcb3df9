"""The plan that ``plan`` and ``apply`` share.

This module must not change a target, nor know how a plan is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.acl import Acl
from metalog.image.features import EMPTY, FeaturesImage
from metalog.plurals import counted
from metalog_sources.formats.document import Document, ScramUser
from metalog_sources.targets.plan import (
    ChangeKind,
    Plan,
    PlanStep,
    after,
)
from shell.tasks.plans.checks import PlanFinding

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog_sources.source import Source

_WORDS: Final = {ChangeKind.ADD: "add", ChangeKind.REMOVE: "remove"}


class Planned(NamedTuple):
    """``current`` are all the ACLs that the target has, ``users`` those that are wanted.
    ``wanted`` is empty where the plan was a saved one, ``features`` are those of a log."""

    source: Source
    current: frozenset[Acl]
    config: AuthorizerConfig
    plan: Plan
    users: tuple[ScramUser, ...] = ()
    findings: tuple[PlanFinding, ...] = ()
    wanted: Document = Document()
    features: FeaturesImage = EMPTY

    @property
    def after(self) -> set[Acl]:
        return after(self.current, self.plan.steps)


def summary(steps: Sequence[PlanStep]) -> str:
    if not steps:
        return "Nothing to do."
    counts = [
        f"{number:,} to {_WORDS[change]}"
        for change in ChangeKind
        if (number := sum(step.change is change for step in steps))
    ]
    principals = {step.acl.principal for step in steps}
    whom = min(principals) if len(principals) == 1 else counted(len(principals), "principal")
    return f"{', '.join(counts)}, for {whom}."
