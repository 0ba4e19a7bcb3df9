"""A session with ZooKeeper, by kazoo, that reads and writes many nodes.

A write fails if another client has changed the node. Errors are one line. A new node gets the
ZooKeeper ACL of its parent. This module must not know what the nodes contain.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Final, NamedTuple

import kazoo.exceptions as faults  # type: ignore[import-untyped]
from kazoo.client import KazooClient  # type: ignore[import-untyped]
from kazoo.handlers.threading import KazooTimeoutError  # type: ignore[import-untyped]

from metalog.errors import InvalidRequest, InvalidSource
from metalog.hosts.host_port import parse_addresses
from metalog.wire.client.bootstrap import check_reachable

CONNECT_S: Final = 5.0
"""The seconds in which ZooKeeper must accept the session."""
ANSWER_S: Final = 10.0
"""The seconds in which ZooKeeper must answer one request."""
_REQUESTS_AT_ONCE: Final = 1000
_quiet = logging.getLogger(f"{__name__}.kazoo")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


class Znode(NamedTuple):
    """``data`` can contain credentials, so ``repr`` hides it."""

    data: bytes
    version: int

    def __repr__(self) -> str:
        return f"Znode(data=[{len(self.data)} bytes], version={self.version})"


class Write(NamedTuple):
    """Sets ``data`` at ``path`` if the node still has ``version``. A ``version`` of None creates
    the node; ``data`` of None removes the node. ``event`` is the path and data of a sequential
    node that notifies brokers."""

    path: str
    data: bytes | None
    version: int | None
    event: tuple[str, bytes]


class ZooKeeperSession:
    """Connects at the first request, also after ``close``."""

    def __init__(self, url: str, hosts: str) -> None:
        self.url = url
        self._hosts = hosts
        self._client: Any = None
        self._node_acls: dict[str, Any] = {}

    def children(self, paths: Sequence[str]) -> dict[str, list[str]]:
        """The sorted children of each existing node of ``paths``."""
        answers = self._answers("list", paths, lambda client, path: client.get_children_async(path))
        return {path: sorted(names) for path, names in answers.items()}

    def nodes(self, paths: Sequence[str]) -> dict[str, Znode]:
        """Each existing node of ``paths``."""
        answers = self._answers("read", paths, lambda client, path: client.get_async(path))
        return {path: Znode(data or b"", stat.version) for path, (data, stat) in answers.items()}

    def sync(self) -> None:
        """Make later reads see all writes of other clients up to now."""
        with self._one_line_errors("read", "/") as client:
            client.sync_async("/").get(timeout=ANSWER_S)

    def write(self, writes: Sequence[Write]) -> list[Write]:
        """Apply ``writes``. A write and its event take effect together or not at all. Returns the
        writes that failed because another client had changed the node."""
        acls = self._node_acls_of({parent for write in writes for parent in _parents(write)})
        stale = []
        for part in _parts(writes):
            with self._one_line_errors("write", part[0].path) as client:
                sent = [_transaction(client, write, acls) for write in part]
            for write, result in zip(part, sent, strict=True):
                with self._one_line_errors("write", write.path):
                    if not self._is_done(result.get(timeout=ANSWER_S)):
                        stale.append(write)
        return stale

    def close(self) -> None:
        client, self._client = self._client, None
        self._node_acls.clear()
        if client is not None:
            client.stop()
            client.close()

    def _answers(
        self, what: str, paths: Sequence[str], ask: Callable[[Any, str], Any]
    ) -> dict[str, Any]:
        answers = {}
        for part in _parts(paths):
            with self._one_line_errors(what, part[0]) as client:
                requests = [ask(client, path) for path in part]
            for path, answer in zip(part, requests, strict=True):
                with self._one_line_errors(what, path):
                    try:
                        answers[path] = answer.get(timeout=ANSWER_S)
                    except faults.NoNodeError:
                        continue
        return answers

    def _node_acls_of(self, paths: Iterable[str]) -> dict[str, Any]:
        """The ZooKeeper ACL of each node of ``paths``; creates missing nodes."""
        for path in sorted(set(paths) - self._node_acls.keys()):
            self._node_acls[path] = self._node_acl_of(path)
        return self._node_acls

    def _node_acl_of(self, path: str) -> Any:
        with self._one_line_errors("write", path) as client:
            try:
                return client.get_acls_async(path).get(timeout=ANSWER_S)[0]
            except faults.NoNodeError:
                pass
        parent_acl = self._node_acl_of(path.rpartition("/")[0] or "/")
        with self._one_line_errors("write", path) as client:
            with suppress(faults.NodeExistsError):
                client.create_async(path, acl=parent_acl).get(timeout=ANSWER_S)
            return client.get_acls_async(path).get(timeout=ANSWER_S)[0]

    def _is_done(self, results: Sequence[Any]) -> bool:
        for result in results:
            if isinstance(result, faults.RolledBackError | faults.RuntimeInconsistency):
                continue
            if isinstance(
                result, faults.BadVersionError | faults.NoNodeError | faults.NodeExistsError
            ):
                return False
            if isinstance(result, Exception):
                raise result
        return True

    def _connected(self) -> Any:
        if self._client is None:
            until = monotonic() + CONNECT_S
            self._check_reachable()
            client: Any = KazooClient(self._hosts, timeout=CONNECT_S, logger=_quiet)
            started = client.start_async()
            started.wait(timeout=max(0, until - monotonic()))
            self._client = client
            if not client.connected:
                self.close()
                raise InvalidSource(
                    f"{self.url}: connected, but no answer within"
                    f" {CONNECT_S:g} s; is this ZooKeeper's port without TLS?"
                )
            if client.chroot and client.exists_async("/").get(timeout=ANSWER_S) is None:
                self.close()
                raise InvalidSource(f"{self.url}: ZooKeeper has no node {client.chroot}")
        return self._client

    def _check_reachable(self) -> None:
        """kazoo would not say why no address answers."""
        hosts = self._hosts.partition("/")[0]
        try:
            check_reachable(parse_addresses(hosts), CONNECT_S)
        except InvalidRequest as error:
            raise InvalidSource(f"{self.url}: {error}; is this ZooKeeper's address?") from None

    @contextmanager
    def _one_line_errors(self, what: str, path: str) -> Iterator[Any]:
        """Yield kazoo's client; exceptions about missing or existing nodes stay unchanged."""
        try:
            yield self._connected()
        except (faults.NoNodeError, faults.NodeExistsError):
            raise
        except faults.NoAuthError:
            raise NotAllowed(
                f"{self.url}: cannot {what} {path}: its ZooKeeper ACL refuses a client"
                " without authentication"
            ) from None
        except (faults.KazooException, KazooTimeoutError) as error:
            text = " ".join(str(error).split()) or type(error).__name__
            raise InvalidSource(f"{self.url}: cannot {what} {path}: {text}") from None


class NotAllowed(InvalidSource):
    """A node's ZooKeeper ACL forbids the request."""


def _parents(write: Write) -> tuple[str, str]:
    return write.path.rpartition("/")[0], write.event[0].rpartition("/")[0]


def _transaction(client: Any, write: Write, acls: dict[str, Any]) -> Any:
    """Include the event, because brokers read a resource again only after an event."""
    parent, event_parent = _parents(write)
    transaction = client.transaction()
    if write.data is None:
        transaction.delete(write.path, version=write.version)
    elif write.version is None:
        transaction.create(write.path, write.data, acl=acls[parent])
    else:
        transaction.set_data(write.path, write.data, version=write.version)
    path, data = write.event
    transaction.create(path, data, acl=acls[event_parent], sequence=True)
    return transaction.commit_async()


def _parts(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), _REQUESTS_AT_ONCE):
        yield items[start : start + _REQUESTS_AT_ONCE]
