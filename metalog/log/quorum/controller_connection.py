"""The connection of a quorum's observer to one controller.

If the connection is lost, the observer connects to the first other controller that accepts a
connection. This module also requests the cluster's id. It must not know the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from metalog.errors import ErrorCode, InvalidRequest, InvalidSource
from metalog.hosts.host_port import Address
from metalog.log.quorum.observer_state import Follower, FollowVerdict
from metalog.wire.client.bootstrap import first_connection
from metalog.wire.client.connection import Connection, Unreachable
from metalog.wire.client.sasl import AuthenticationFailed
from metalog.wire.client.security import ClientSettings
from metalog.wire.fetch import FETCH_SNAPSHOT
from metalog.wire.frames import Malformed
from metalog.wire.schema import Body, request_type
from metalog.wire.versions import NoCommonVersion, VersionRange

DESCRIBE_CLUSTER: Final = 60
_DESCRIBE_VERSIONS: Final = (1,)
_CONTROLLER_ENDPOINTS: Final = 2


class ControllerConnection:
    """Connects at the first request.

    ``path`` names the log in errors. With ``identifies``, the cluster's id is requested at the
    first connection.
    """

    def __init__(
        self, path: str, follower: Follower, settings: ClientSettings, *, identifies: bool
    ) -> None:
        self.cluster_id: str | None = None
        self.features: Mapping[str, VersionRange] = {}
        """The feature levels that the controller of the last connection supports."""
        self.was_connected = False
        self._path = path
        self._follower = follower
        self.settings = settings
        """For new connections."""
        self._is_id_requested = identifies
        """The id was requested, or will be at the first connection."""
        self._connection: Connection | None = None

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def ask_id(self) -> str | None:
        """The cluster's id; None if the controllers do not send it. After an answer, the id is not
        requested again."""
        if self.cluster_id is None and not self._is_id_requested:
            self.cluster_id = self._requested_id()
            self._is_id_requested = True
        return self.cluster_id

    def ask(
        self,
        controller: Address,
        api_key: int,
        versions: Iterable[int],
        request: Callable[[int], Body],
        wait_s: float,
    ) -> Body:
        """The answer to ``request(version)``, with the highest common version.

        ``Unreachable`` if there is no answer now; ``InvalidSource`` if a retry cannot help.
        """
        with self._raising_invalid_source(controller):
            try:
                connection = self._connected(controller)
                body = request(connection.version(api_key, versions))
                return connection.ask(body, wait_s + self.settings.request_timeout_s)
            except Unreachable:
                self.close()
                raise

    @contextmanager
    def _raising_invalid_source(self, controller: Address | None = None) -> Iterator[None]:
        try:
            yield
        except (AuthenticationFailed, Malformed, NoCommonVersion) as error:
            self.close()
            if controller is not None:
                self._follower.note_failure(controller)
            raise InvalidSource(f"{self._path}: {error}") from None

    def after_loss(self, controller: Address, trouble: str) -> tuple[FollowVerdict, str]:
        """Connect to the first other controller that accepts, unless the follower must ``PAUSE``.

        Returns the follower's verdict, and ``trouble``, the error of the loss. If all attempts
        fail, their errors follow ``trouble``.
        """
        verdict = self._follower.note_failure(controller)
        others = [each for each in self._follower.controllers if each != controller]
        if verdict is FollowVerdict.PAUSE or not others:
            return verdict, trouble
        with self._raising_invalid_source():  # the failure of the lost one is noted already
            try:
                connection = first_connection(others, self.settings, check=_refuse_a_broker)
            except Unreachable as error:
                return self._follower.note_all_failed(), f"{trouble}; {error}"
            self._follower.begin_with(connection.address)
            self._take(connection)
        return verdict, trouble

    def connect_to_any(self) -> None:
        try:
            connection = first_connection(
                self._follower.controllers, self.settings, check=_refuse_a_broker
            )
            self._follower.begin_with(connection.address)
            self._take(connection)
        except InvalidRequest as error:
            raise InvalidSource(f"{self._path}: {error}") from None

    def _requested_id(self) -> str | None:
        controller = self._follower.target
        with self._raising_invalid_source(controller):
            try:
                return _cluster_id_of(self._connected(controller))
            except Unreachable as error:
                self.close()
                raise InvalidSource(f"{self._path}: {error}") from None

    def _connected(self, address: Address) -> Connection:
        connection = self._connection
        if connection is not None and connection.address == address:
            return connection
        self.close()
        return self._take(Connection(address, self.settings))

    def _take(self, connection: Connection) -> Connection:
        self._connection = connection
        _refuse_a_broker(connection)
        self.features = connection.features
        if not self.was_connected and self._is_id_requested:
            self.cluster_id = _cluster_id_of(connection) or self.cluster_id
        self.was_connected = True
        return connection


def _refuse_a_broker(connection: Connection) -> None:
    if FETCH_SNAPSHOT not in connection.versions:
        raise NoCommonVersion(
            f"{connection.address} is a broker's listener; give a controller's, as in "
            "controller.quorum.bootstrap.servers"
        )


def _cluster_id_of(connection: Connection) -> str | None:
    """Later requests carry the id, so that another cluster at an old address refuses them."""
    try:
        version = connection.version(DESCRIBE_CLUSTER, _DESCRIBE_VERSIONS)
    except NoCommonVersion:
        return None
    described = connection.ask(
        request_type(DESCRIBE_CLUSTER, version)(
            include_cluster_authorized_operations=False, endpoint_type=_CONTROLLER_ENDPOINTS
        )
    )
    return described.cluster_id if described.error_code == ErrorCode.NONE else None
