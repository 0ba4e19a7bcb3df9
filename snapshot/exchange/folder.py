"""A stopped node's folder as a TARGET: its log is claimed and written as its controller would.

Only where the node is the log's only voter, which is looked at before anything is written.
This module must not know what is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final, TypeVar

from metalog.acl import AccessControlEntryFilter, Acl, AclFilter, ResourcePatternFilter
from metalog.controller.result import ApiError
from metalog.errors import InvalidTarget
from metalog.log.directory import DirectoryLog
from metalog.log.ownership import check_ownership
from metalog.log.writer import WritableDirectoryLog
from metalog.replica import Replica
from snapshot.exchange.formats.document import Document, Entry
from snapshot.exchange.replay import replay_source
from snapshot.exchange.source import Source
from snapshot.exchange.store import State

T = TypeVar("T")

_PATIENCE_S: Final = 60.0


class FolderTarget:
    """Claimed at the first change, and let go by ``close``."""

    caller: str | None = None

    def __init__(self, source: Source, log: DirectoryLog) -> None:
        check_ownership(log, None)
        self._source = source
        self._path = log.path
        self._replica: Replica | None = None

    def state(self) -> State:
        """What the folder's log holds; damage stops it."""
        replayed = replay_source(self._source)
        acls = dict.fromkeys(replayed.image.acls.by_id.values())
        return State(Document(tuple(map(Entry, acls))), replayed.problems)

    def why_not(self, acl: Acl) -> str | None:
        return None

    def create(self, acls: Sequence[Acl]) -> None:
        for result in _results(self._opened().create_acls(self, acls)):
            self._check(result)

    def delete(self, acls: Sequence[Acl]) -> None:
        for result in _results(self._opened().delete_acls(self, list(map(_exactly, acls)))):
            self._check(result.error)

    def close(self) -> None:
        replica, self._replica = self._replica, None
        if replica is not None:
            replica.close()

    def _opened(self) -> Replica:
        if self._replica is None:
            replica = Replica(WritableDirectoryLog(self._path))
            replica.start()
            self._replica = replica
        return self._replica

    def _check(self, error: ApiError) -> None:
        if error:
            raise InvalidTarget(f"{self._path}: {error.code.name}: {error.message}")


def _results(futures: Sequence[Future[T]]) -> list[T]:
    return [future.result(timeout=_PATIENCE_S) for future in futures]


def _exactly(acl: Acl) -> AclFilter:
    return AclFilter(
        ResourcePatternFilter(acl.resource_type, acl.resource_name, acl.pattern_type),
        AccessControlEntryFilter(acl.principal, acl.host, acl.operation, acl.permission_type),
    )
