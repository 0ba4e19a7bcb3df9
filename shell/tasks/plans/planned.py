"""A plan and its input, for the verbs ``plan`` and ``apply``.

This module must not change a target, nor know how a plan is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.acl import Acl
from metalog.hosts.host_block import has_block
from metalog.image.state.features import EMPTY, FeaturesImage
from metalog.text.plurals import counted
from metalog.text.visible_text import shown
from metalog_sources.formats.document import Document, ScramUser
from metalog_sources.targets.plan import ChangeKind, Plan, PlanStep, after
from shell.tasks.acl_words import sentence

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog_sources.formats.document import FilePosition
    from metalog_sources.source import Source

_WORDS: Final = {ChangeKind.ADD: "add", ChangeKind.REMOVE: "remove"}


class PlanFinding(NamedTuple):
    """A remark for a reviewer, about the step with ``acl``, if any."""

    message: str
    acl: Acl | None = None
    position: FilePosition | None = None

    def __str__(self) -> str:
        where = "" if self.position is None else f"{self.position}: "
        what = "" if self.acl is None else f"{sentence(self.acl)}: "
        return f"{where}{what}{self.message}"


class Planned(NamedTuple):
    """A plan and its input.

    ``current`` are all ACLs of the target; ``users`` are the wanted users. ``features`` belong to
    the target's log; a store has none. A saved plan has no ``wanted`` and no ``features``.
    """

    source: Source
    current: frozenset[Acl]
    config: AuthorizerConfig
    plan: Plan
    users: tuple[ScramUser, ...] = ()
    findings: tuple[PlanFinding, ...] = ()
    wanted: Document = Document()
    features: FeaturesImage = EMPTY
    is_kafka_assumed: bool = False

    @property
    def after(self) -> set[Acl]:
        return after(self.current, self.plan.steps)

    @property
    def of_other_kafka(self) -> Planned | None:
        """The same plan, if Kafka matches CIDR blocks as hosts in the way that was not assumed.

        None if the version is configured, or no ACL's host is a CIDR block.
        """
        acls = (*self.current, *(step.acl for step in self.plan.steps))
        if not (self.is_kafka_assumed and has_block(acl.host for acl in acls)):
            return None
        return self._replace(config=self.config._replace(kafka_version=self.config.kafka.other))


def summary(steps: Sequence[PlanStep]) -> str:
    if not steps:
        return "Nothing to do."
    counts = [
        f"{number:,} to {_WORDS[change]}"
        for change in ChangeKind
        if (number := sum(step.change is change for step in steps))
    ]
    principals = {step.acl.principal for step in steps}
    whom = shown(min(principals)) if len(principals) == 1 else counted(len(principals), "principal")
    return f"{', '.join(counts)}, for {whom}."
