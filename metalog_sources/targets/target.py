"""Targets: the stores and logs to which a plan can be applied.

A log applies a plan as a whole, a store phase by phase. This module must not know how a plan was
made, and never prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, Protocol, runtime_checkable

from metalog.acl import Acl, PatternType, ResourceType
from metalog.controller.acl import why_not
from metalog.controller.acl_hosts import AclVersions, versions_of_cluster, versions_of_log
from metalog.errors import InvalidRequest, InvalidTarget
from metalog.image.state.features import CIDR_HOSTS_SINCE, EMPTY, FeaturesImage
from metalog.log.folder.directory import DirectoryLog
from metalog.text.plurals import counted, plural
from metalog_sources.formats.document import ScramUser
from metalog_sources.source import Source
from metalog_sources.source_kinds import ACL_TARGETS
from metalog_sources.store import StoreState
from metalog_sources.targets.answers import PartlyDone
from metalog_sources.targets.plan import ChangeKind, PlanStep, phases

_ACLS_PER_REQUEST: Final = 500
"""Kafka accepts at most 10,000 changes in one request."""


_Resource = tuple[ResourceType, str, PatternType]


@runtime_checkable
class _Target(Protocol):
    """``caller`` is the principal that the target sees, if known."""

    caller: str | None

    def state(self) -> StoreState: ...

    def why_not(self, acl: Acl) -> str | None:
        """Why the target cannot store ``acl``, or None."""
        ...

    def close(self) -> None:
        """Release the connection or lock. Further calls do nothing."""
        ...


@runtime_checkable
class StoreTarget(_Target, Protocol):
    def create(self, acls: Sequence[Acl]) -> None: ...

    def delete(self, acls: Sequence[Acl]) -> None: ...


@runtime_checkable
class LogTarget(_Target, Protocol):
    def change(
        self,
        steps: Sequence[PlanStep],
        users: Sequence[ScramUser],
        before: Collection[Acl] | None = None,
    ) -> None:
        """Apply all ``steps`` and the credentials of ``users``, or nothing. ``InvalidTarget`` if
        ``before`` is not None and differs from the log's ACLs."""
        ...


@runtime_checkable
class LimitedTarget(_Target, Protocol):
    def why_too_many(self, acls: Collection[Acl]) -> str | None:
        """Why ``acls``, all on one resource, are too many, or None."""
        ...


@runtime_checkable
class KafkaTarget(_Target, Protocol):
    """A cluster or a log's folder. Its Kafka version decides which ACLs it accepts."""

    def acl_versions(self) -> AclVersions: ...


@runtime_checkable
class AnnouncingLog(Protocol):
    """A log from a quorum, whose leader announces the newest metadata.version that it supports."""

    def supported_level(self) -> int | None: ...


Target = StoreTarget | LogTarget


def target_of(source: Source) -> Target:
    """The target for an opened SOURCE; ``InvalidTarget`` if the SOURCE cannot be changed."""
    if isinstance(source.opened, StoreTarget):
        return source.opened
    if isinstance(source.opened, DirectoryLog):
        from metalog_sources.names import is_packaged
        from metalog_sources.targets.folder import FolderTarget

        if is_packaged(source.opened.path):
            raise InvalidTarget(
                f"{source.text}: belongs to the installed package and cannot be changed; "
                f"copy {source.opened.path}, and change the copy"
            )
        return FolderTarget(source, source.opened)
    raise ACL_TARGETS.refusal(source.kind, source.text)


def likely_kafka(opened: object, features: FeaturesImage = EMPTY) -> str:
    """The Kafka version of an ``opened`` SOURCE, for use if no option names a version.

    A cluster or a quorum announces its version. For other SOURCEs, ``features`` suggest a version.
    """
    if isinstance(opened, KafkaTarget):
        return opened.acl_versions().kafka
    announced = opened.supported_level() if isinstance(opened, AnnouncingLog) else None
    if announced is None:
        return features.assumed_kafka
    return versions_of_cluster(announced, features.metadata_version or 0).kafka


def accepts_blocks(source: Source, features: FeaturesImage) -> bool:
    """Whether ``source`` accepts new ACLs for CIDR blocks.

    For a log, ``features`` decide. No Kafka with ZooKeeper matches blocks.
    """
    if source.store is None:
        return (features.metadata_version or 0) >= CIDR_HOSTS_SINCE
    if isinstance(source.store, KafkaTarget):
        return source.store.acl_versions().metadata_version >= CIDR_HOSTS_SINCE
    return source.kind != "zookeeper"


def refused_steps(
    target: object,
    steps: Sequence[PlanStep],
    current: Collection[Acl] = (),
    features: FeaturesImage = EMPTY,
) -> list[tuple[PlanStep, str]]:
    """The steps that ``target`` cannot apply, each with the reason.

    ``current`` has the ACLs of ``target``, ``features`` the features of its log. If ``target`` is
    not a ``Target``, only Kafka's rules apply.
    """
    refused = []
    full = _full(target, steps, current) if isinstance(target, LimitedTarget) else {}
    added = [step.acl.host for step in steps if step.change is ChangeKind.ADD]
    has_odd_host = any(not host or "/" in host for host in added)
    versions = _acl_versions(target, features) if has_odd_host else None
    for step in steps:
        why = target.why_not(step.acl) if isinstance(target, _Target) else None
        if why is None and step.change is ChangeKind.ADD:
            why = why_not(step.acl, versions).message or full.get(_resource_of(step.acl))
        if why is not None:
            refused.append((step, why))
    return refused


def _acl_versions(target: object, features: FeaturesImage) -> AclVersions | None:
    if isinstance(target, KafkaTarget):
        return target.acl_versions()
    return None if features.metadata_version is None else versions_of_log(features)


def _full(
    target: LimitedTarget, steps: Sequence[PlanStep], current: Collection[Acl]
) -> dict[_Resource, str]:
    """The resources that would have too many ACLs after the additions, which come before the
    removals."""
    by_resource: dict[_Resource, set[Acl]] = {
        _resource_of(step.acl): set() for step in steps if step.change is ChangeKind.ADD
    }
    for acl in (*current, *(step.acl for step in steps)):
        if (resource := _resource_of(acl)) in by_resource:
            by_resource[resource].add(acl)
    reasons = ((resource, target.why_too_many(acls)) for resource, acls in by_resource.items())
    return {resource: why for resource, why in reasons if why is not None}


def _resource_of(acl: Acl) -> _Resource:
    return acl.resource_type, acl.resource_name, acl.pattern_type


def refuse_unwritable(target: Target, steps: Sequence[PlanStep]) -> None:
    """Raise ``InvalidTarget`` if ``target`` cannot apply a step. Call before the first step."""
    for step, why in refused_steps(target, steps):
        raise InvalidTarget(f"cannot {step.change.value} {_text(step.acl)}: {why}")


def carry_out(
    target: Target,
    steps: Sequence[PlanStep],
    progress: Callable[[int], None] = lambda done: None,
    users: Sequence[ScramUser] = (),
    before: Collection[Acl] | None = None,
) -> None:
    """Apply all ``steps``; an error of a store says how many steps were applied.

    A store refuses ``users`` and ignores ``before`` (see ``LogTarget.change``).
    """
    if isinstance(target, LogTarget):
        target.change(steps, users, before)
        progress(len(steps))
        return
    if users:
        raise InvalidTarget("only a log can receive the credentials of SCRAM users")
    done = 0
    for change, acls in _requests(steps):
        try:
            if change is ChangeKind.ADD:
                target.create(acls)
            else:
                target.delete(acls)
        except InvalidRequest as error:
            more = ", perhaps more"
            if isinstance(error, PartlyDone):
                done += error.done
                more = "" if error.is_exact else more
            raise InvalidTarget(
                f"{error}; {done:,} of {counted(len(steps), 'change')}"
                f" {plural(done, 'was', 'were')} made{more}; "
                "run the command again to finish"
            ) from None
        done += len(acls)
        progress(done)


def _requests(steps: Sequence[PlanStep]) -> Iterator[tuple[ChangeKind, list[Acl]]]:
    for phase in phases(steps):
        for start in range(0, len(phase), _ACLS_PER_REQUEST):
            part = phase[start : start + _ACLS_PER_REQUEST]
            yield part[0].change, [step.acl for step in part]


def _text(acl: Acl) -> str:
    return (
        f"{acl.permission_type.name} {acl.principal} {acl.operation.name} on "
        f"{acl.resource_type.name} {acl.resource_name}"
    )
