"""TARGETs: what ACLs can be written to, and how a plan is carried out there.

A phase of a plan is done before the next begins. This module must not know how a plan was
made, and it asks nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from metalog.acl import Acl
from metalog.errors import InvalidRequest, InvalidTarget
from metalog.log.directory import DirectoryLog
from snapshot.exchange.plan import Change, Step, phases
from snapshot.exchange.source import Source
from snapshot.exchange.store import State

_AT_ONCE: Final = 500
"""ACLs in one request; Kafka takes 10,000 changes at most."""


class Target(Protocol):
    """A store that can be written to. ``caller`` is the principal that it sees, if known."""

    caller: str | None

    def state(self) -> State: ...

    def why_not(self, acl: Acl) -> str | None:
        """Why ``acl`` cannot be written there, or None."""
        ...

    def create(self, acls: Sequence[Acl]) -> None: ...

    def delete(self, acls: Sequence[Acl]) -> None: ...

    def close(self) -> None:
        """Lets go of what was held to write; it may be called again."""
        ...


def target_of(source: Source) -> Target:
    """The TARGET that an opened SOURCE also is; ``InvalidTarget`` where it is none."""
    from snapshot.exchange.cluster import ClusterStore

    if isinstance(source.opened, ClusterStore):
        return source.opened
    if isinstance(source.opened, DirectoryLog):
        from snapshot.exchange.folder import FolderTarget

        return FolderTarget(source, source.opened)
    raise InvalidTarget(
        f"{source.text}: cannot be written to; give cluster://HOST:PORT or a stopped node's folder"
    )


def refuse_unwritable(target: Target, steps: Sequence[Step]) -> None:
    """``InvalidTarget`` if a step cannot be taken at ``target``, before the first is taken."""
    for step in steps:
        why = target.why_not(step.acl)
        if why is not None:
            raise InvalidTarget(f"cannot {step.change.value} {_said(step.acl)}: {why}")


def carry_out(
    target: Target, steps: Sequence[Step], progress: Callable[[int], None] = lambda done: None
) -> None:
    """Takes all ``steps``; an error says how many were taken before it."""
    done = 0
    for change, acls in _requests(steps):
        try:
            if change is Change.ADD:
                target.create(acls)
            else:
                target.delete(acls)
        except InvalidRequest as error:
            raise InvalidTarget(
                f"{error}; {done:,} of {len(steps):,} changes were made before, perhaps more; "
                "run it again to finish"
            ) from None
        done += len(acls)
        progress(done)


def _requests(steps: Sequence[Step]) -> Iterator[tuple[Change, list[Acl]]]:
    for phase in phases(steps):
        for start in range(0, len(phase), _AT_ONCE):
            part = phase[start : start + _AT_ONCE]
            yield part[0].change, [step.acl for step in part]


def _said(acl: Acl) -> str:
    return (
        f"{acl.permission_type.name} {acl.principal} {acl.operation.name} on "
        f"{acl.resource_type.name} {acl.resource_name}"
    )
