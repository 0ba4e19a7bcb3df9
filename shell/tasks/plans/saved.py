"""Reads saved plans, makes them, and checks them against the target's current state.

Changed ACLs, or a changed configuration, can make a plan invalid. This module must not change a
target.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.disk.files import LOCAL_FILES, is_descriptor, opened, read_whole
from metalog.errors import InvalidRequest
from metalog.hosts.host_block import has_block
from metalog.text.visible_text import shown
from metalog_sources.formats.document import acl_order, is_owned
from metalog_sources.targets.plan import SAVED_BEGINNING, SavedPlan, read_saved, saved
from shell.tasks.acl_words import resource_kind, sentence

if TYPE_CHECKING:
    from authorizer.analysis.changes.effect import OtherEffect
    from authorizer.config import AuthorizerConfig
    from metalog.acl import Acl
    from metalog_sources.targets.plan import Plan, PlanProof

_ANSWERS: Final = {True: "ALLOWED", False: "DENIED"}


class ChangeSincePlan(NamedTuple):
    """An ACL that was added or removed after the plan was made, and why the change matters."""

    acl: Acl
    is_added: bool
    why: str

    def __str__(self) -> str:
        return f"{sentence(self.acl)} was {'added' if self.is_added else 'removed'}: {self.why}"


def saved_plan(name: str) -> SavedPlan | None:
    """The saved plan in the file ``name``; None if the file is not a saved plan."""
    path = Path(name)
    if not (path.is_file() or is_descriptor(path)):
        return None
    if path.suffix != ".json" and not _begins_as_plan(path):
        return None
    try:
        return read_saved(read_whole(LOCAL_FILES, path).decode(), name)
    except UnicodeDecodeError:
        raise InvalidRequest(f"{name}: not UTF-8") from None


def refuse_saved(names: Iterable[str]) -> None:
    """Raise ``InvalidRequest`` if one of the files ``names`` is a saved plan."""
    for name in names:
        if Path(name).is_file() and _begins_as_plan(Path(name)):
            raise InvalidRequest(f"{name}: a saved plan already; use metalog apply TARGET {name}")


def _begins_as_plan(path: Path) -> bool:
    with opened(LOCAL_FILES, path) as file:
        return file.read_at(0, len(SAVED_BEGINNING)) == SAVED_BEGINNING


def plan_to_save(
    target: str,
    current: Collection[Acl],
    plan: Plan,
    config: AuthorizerConfig,
    proof: PlanProof | None = None,
) -> SavedPlan:
    from authorizer.analysis.changes.effect import reached_by

    reached = reached_by(current, [step.acl for step in plan.steps])
    return saved(
        target,
        reached,
        current,
        plan,
        super_users=config.super_users,
        allow_everyone=config.allow_everyone,
        kafka_version=config.kafka.value,
    )._replace(proof=proof)


def plan_config(plan: SavedPlan) -> AuthorizerConfig:
    from authorizer.config import AuthorizerConfig, read_kafka_version

    version = read_kafka_version(plan.kafka_version)
    return AuthorizerConfig(frozenset(plan.super_users), plan.allow_everyone, kafka_version=version)


def refuse_other_config(
    plan: SavedPlan, config: AuthorizerConfig, current: Collection[Acl]
) -> None:
    """Raise ``InvalidRequest`` if ``config`` can decide differently than the plan's
    configuration."""
    before = plan_config(plan)
    if before[:2] != config[:2]:
        raise InvalidRequest(
            f"this plan was made with {config_text(before)}; the configuration is now "
            f"{config_text(config)}; make a new plan with metalog plan"
        )
    hosts = (acl.host for acl in (*current, *plan.added))
    if before.kafka is not config.kafka and has_block(hosts):
        raise InvalidRequest(
            f"this plan was made for Kafka {before.kafka.value}, and now Kafka "
            f"{config.kafka.value} decides, which reads CIDR hosts differently; make a new "
            f"plan with metalog plan, or give --kafka {before.kafka.value}"
        )


def config_text(config: AuthorizerConfig) -> str:
    users = shown(";".join(sorted(config.super_users))) if config.super_users else "none"
    return f"super.users {users} and the default {_ANSWERS[config.allow_everyone]}"


def changed_since(
    plan: SavedPlan, current: Collection[Acl], config: AuthorizerConfig
) -> Iterator[ChangeSincePlan]:
    """Changed ACLs that the plan's files own, then other changed ACLs that alter the plan's effect.

    Steps that an interrupted ``apply`` made do not count as changes.
    """
    from authorizer.analysis.changes.effect import SetChange, other_effects, reached_by

    change = SetChange(plan.added, plan.removed)
    steps = change.added | change.removed
    now = change.undone(current)
    before = {*plan.before}
    owned = {acl for acl in now if is_owned(acl, plan.owns)}
    owned_before = {acl for acl in before if is_owned(acl, plan.owns)}
    for acl in sorted(owned ^ owned_before, key=acl_order):
        yield ChangeSincePlan(acl, acl in owned, "the plan's files own it")
    unowned = {*reached_by(now, steps)} - owned
    for effect in other_effects(before, owned_before | unowned, change, config):
        yield ChangeSincePlan(effect.acl, effect.acl in now, _text(effect))


def _text(effect: OtherEffect) -> str:
    question, (name, is_literal) = effect.question, effect.names
    subject = shown(question.principal) if effect.is_named else "others"
    prefixed = f"names that begin with {shown(name)}" if name else "any other name"
    what = shown(name) if is_literal else prefixed
    request = (
        f"{question.operation.name} on {resource_kind(question.resource_type)} {what} for {subject}"
    )
    then = _ANSWERS[effect.now[1]]
    if effect.planned[0] is effect.planned[1]:
        return f"{request} would become {then}, which was not planned"
    return f"{request} was planned to become {_ANSWERS[effect.planned[1]]}, and would become {then}"
