"""A TARGET in memory: accepts ACLs as a cluster does, and fails on demand.

This module must not know plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metalog.acl import Acl, PermissionType
from metalog.errors import InvalidSource
from metalog_sources.formats.document import AclEntry, Document
from metalog_sources.store import StoreState


class MemoryTarget:
    """Fails after a number of requests; with ``only_allows`` it cannot represent a DENY."""

    caller: str | None = None

    def __init__(
        self, acls: Iterable[Acl], *, fails_after: int = 1 << 30, only_allows: bool = False
    ) -> None:
        self.acls = set(acls)
        self.requests: list[Sequence[Acl]] = []
        self.left = fails_after
        self._only_allows = only_allows

    def state(self) -> StoreState:
        return StoreState(Document(tuple(map(AclEntry, sorted(self.acls)))))

    def why_not(self, acl: Acl) -> str | None:
        refused = self._only_allows and acl.permission_type is PermissionType.DENY
        return "it is a DENY" if refused else None

    def create(self, acls: Sequence[Acl]) -> None:
        self._take(acls)
        self.acls |= set(acls)

    def delete(self, acls: Sequence[Acl]) -> None:
        self._take(acls)
        self.acls -= set(acls)

    def close(self) -> None:
        pass

    def _take(self, acls: Sequence[Acl]) -> None:
        if self.left == 0:
            raise InvalidSource("memory: cannot: it broke")
        self.left -= 1
        self.requests.append(acls)
