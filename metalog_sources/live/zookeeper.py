"""``zookeeper://HOST:PORT``: reads ACLs and SCRAM users of Kafka up to 3.9, and writes ACLs.

The reader reads all nodes, and again the nodes that Kafka's change events name during the read.
Like Kafka's AclAuthorizer, the writer writes one node for each resource, and an event for the
brokers. This module must not know the wanted ACLs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from metalog.acl import Acl
from metalog.errors import CorruptLog, InvalidSource, InvalidTarget
from metalog.loader import LoadDoubt
from metalog_sources.formats.document import AclEntry, Document, ScramUser
from metalog_sources.formats.zookeeper import znodes
from metalog_sources.formats.zookeeper.kip11 import Resource, write_kip11
from metalog_sources.live.zookeeper_session import NotAllowed, Write, Znode, ZooKeeperSession
from metalog_sources.store import StoreState

SCHEME: Final = "zookeeper://"
_FORM: Final = re.compile(r"(?P<hosts>[^/,]+:\d{1,5}(?:,[^/,]+:\d{1,5})*)(?P<chroot>(?:/[^/]+)*)/?")
_TRIES: Final = 10
_NO_ACLS: Final = (
    f"there is no {znodes.LITERAL_ROOT}, which Kafka's authorizer makes at its first start; is "
    "this Kafka's ZooKeeper, with Kafka's chroot?"
)

Edit = Callable[[set[Acl]], set[Acl]]


class ZookeeperStore:
    """A session lasts for one read, or from the first change to ``close``."""

    caller: str | None = None

    def __init__(self, url: str) -> None:
        match = _FORM.fullmatch(url.removeprefix(SCHEME))
        if match is None:
            raise InvalidSource(f"{url}: give {SCHEME}HOST:PORT[,HOST:PORT][/CHROOT]")
        self._session = ZooKeeperSession(url, match["hosts"] + match["chroot"])
        self._url = url
        self._old_paths: dict[Resource, list[str]] | None = None

    def state(self) -> StoreState:
        try:
            return self._state()
        finally:
            self._session.close()

    def _state(self) -> StoreState:
        session = self._session
        session.sync()
        seen = set(self._events())
        places, problems, unread = self._places()
        nodes = session.nodes(list(places))
        users, unread_users = self._users()
        while new := [event for event in self._events() if event not in seen]:
            seen.update(new)
            changed = self._changed(new)
            places.update(changed)
            nodes = {path: node for path, node in nodes.items() if path not in changed}
            nodes.update(session.nodes(list(changed)))
        self._old_paths = _old_paths_of(places)
        entries = [
            entry
            for path, node in sorted(nodes.items())
            for entry in self._read(node.data, path, places[path])
        ]
        return StoreState(
            Document(tuple(entries), users=users), tuple(problems), unread, unread_users
        )

    def why_not(self, acl: Acl) -> str | None:
        return znodes.why_not(acl)

    def why_too_many(self, acls: Collection[Acl]) -> str | None:
        return znodes.why_too_many(len(acls), len(write_kip11(acls).encode()))

    def create(self, acls: Sequence[Acl]) -> None:
        self._change(
            {
                znodes.path_of(resource): (resource, added.union)
                for resource, added in _by_resource(acls).items()
            }
        )

    def delete(self, acls: Sequence[Acl]) -> None:
        """Delete ``acls`` at every path, also at the older paths of KIP-11 and KIP-290."""
        if self._old_paths is None:
            self._old_paths = _old_paths_of(self._places()[0])
        edits: dict[str, tuple[Resource, Edit]] = {}
        for resource, removed in _by_resource(acls).items():
            for path in (znodes.path_of(resource), *self._old_paths.get(resource, ())):
                edits[path] = resource, partial(_without, removed)
        self._change(edits)

    def close(self) -> None:
        self._session.close()

    def _events(self) -> Iterator[str]:
        for root, names in self._session.children(znodes.EVENT_ROOTS).items():
            yield from (f"{root}/{name}" for name in names)

    def _changed(self, events: Sequence[str]) -> dict[str, Resource]:
        nodes = self._session.nodes(events)
        resources = {znodes.read_event(node.data, path) for path, node in nodes.items()}
        return {
            znodes.path_of(resource): resource for resource in resources if resource is not None
        }

    def _places(self) -> tuple[dict[str, Resource], list[str], tuple[LoadDoubt, ...]]:
        """The resources by path, lines about nodes that Kafka ignores, and doubts."""
        session = self._session
        types = session.children(list(znodes.ROOTS))
        problems = []
        unread = [] if types else [CorruptLog(_NO_ACLS, file=self._url)]
        folders = [(root, name) for root, names in types.items() for name in names]
        names = session.children([f"{root}/{name}" for root, name in folders])
        places: dict[str, Resource] = {}
        for root, type_name in folders:
            if znodes.resource_at(root, type_name, "") is None:
                problems.append(
                    f"{self._url}: left out: {root}/{type_name}, which is not a resource"
                    " type; Kafka leaves it out too"
                )
            for name in names.get(f"{root}/{type_name}", ()):
                resource = znodes.resource_at(root, type_name, name)
                if resource is not None:
                    places[f"{root}/{type_name}/{name}"] = resource
        return places, problems, tuple(LoadDoubt(1, fault) for fault in unread)

    def _users(self) -> tuple[tuple[ScramUser, ...], tuple[LoadDoubt, ...]]:
        try:
            names = self._session.children([znodes.USERS_ROOT]).get(znodes.USERS_ROOT, ())
            nodes = self._session.nodes([f"{znodes.USERS_ROOT}/{name}" for name in names])
        except NotAllowed as error:
            return (), (LoadDoubt(1, CorruptLog(str(error))),)
        return tuple(
            user
            for path, node in nodes.items()
            for user in znodes.read_user(
                node.data, f"{self._url}{path}", znodes.user_of(path.rpartition("/")[2])
            )
        ), ()

    def _read(self, data: bytes, path: str, resource: Resource) -> list[AclEntry]:
        return znodes.read_acls(data, f"{self._url}{path}", resource)

    def _change(self, edits: dict[str, tuple[Resource, Edit]]) -> None:
        for _ in range(_TRIES):
            nodes = self._session.nodes(list(edits))
            writes = [
                write
                for path, (resource, edit) in edits.items()
                if (write := self._write(path, resource, nodes.get(path), edit)) is not None
            ]
            stale = {write.path for write in self._session.write(writes)}
            if not stale:
                return
            edits = {path: edits[path] for path in edits if path in stale}
        raise InvalidTarget(
            f"{self._url}: cannot write {min(edits)}: another client keeps changing it; try again"
        )

    def _write(self, path: str, resource: Resource, node: Znode | None, edit: Edit) -> Write | None:
        stored = set()
        if node is not None:
            stored = {entry.acl for entry in self._read(node.data, path, resource)}
        wanted = edit(stored)
        if wanted == stored:
            return None
        data = write_kip11(wanted).encode() if wanted else None
        if data is not None and (why := znodes.why_too_many(len(wanted), len(data))):
            raise InvalidTarget(f"{self._url}{path}: {why}")
        root, event = znodes.event_of(resource)
        version = None if node is None else node.version
        return Write(path, data, version, (f"{root}/{znodes.EVENT_PREFIX}", event))


def _without(removed: set[Acl], stored: set[Acl]) -> set[Acl]:
    return stored - removed


def _by_resource(acls: Iterable[Acl]) -> dict[Resource, set[Acl]]:
    acls_of: dict[Resource, set[Acl]] = {}
    for acl in acls:
        acls_of.setdefault((acl.resource_type, acl.resource_name, acl.pattern_type), set()).add(acl)
    return acls_of


def _old_paths_of(places: dict[str, Resource]) -> dict[Resource, list[str]]:
    """The older paths (KIP-11, KIP-290) of each resource."""
    paths_of: dict[Resource, list[str]] = {}
    for path, resource in places.items():
        if path != znodes.path_of(resource):
            paths_of.setdefault(resource, []).append(path)
    return paths_of
