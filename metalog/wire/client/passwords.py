"""KIP-506's client, which sets SCRAM passwords on a node.

The node checks the password, and derives the credential. Kafka does not have this API;
docs/formats/README.md has our API key. This module must not keep a password.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple, Self

from metalog.errors import ErrorCode, InvalidRequest
from metalog.futures import when_done
from metalog.hosts.host_port import Address, parse_addresses
from metalog.scram import ScramMechanism
from metalog.wire.client.bootstrap import first_connection
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import ClientSettings, client_settings
from metalog.wire.declared.extensions import (
    SCRAM_PASSWORD,
    WireScramCredentials,
    WireScramPasswordRequest,
    WireScramPasswordResponse,
)
from metalog.wire.schema import error_name

_VERSIONS: Final = range(1)


class EncryptionRequired(InvalidRequest):
    """The connection is not TLS, so no password was sent."""

    code = ErrorCode.ENCRYPTION_REQUIRED


class PasswordRefused(InvalidRequest):
    """The node refused or did not confirm a change for one user."""


class ScramEntity(NamedTuple):
    """A user and a SCRAM mechanism: the key of one credential."""

    user: str
    mechanism: ScramMechanism


class NewPassword(NamedTuple):
    """A password to set; None deletes the credential."""

    entity: ScramEntity
    password: str | None

    def __repr__(self) -> str:
        return f"NewPassword({self.entity!r}, [hidden])"


class SetScramPasswordResult:
    """The outcomes; a failure is the exception of the credential's future."""

    def __init__(self, values: Mapping[ScramEntity, Future[None]]) -> None:
        self._values = values

    def all(self) -> Future[None]:
        """A future that is done when all changes are done, and fails if a change fails."""
        return when_done(list(self._values.values()), lambda _: None)

    def values(self) -> Mapping[ScramEntity, Future[None]]:
        """A future for each user and mechanism."""
        return self._values


class PasswordClient:
    """Sets SCRAM passwords on nodes of this project (KIP-506), only over TLS.

    Each request opens a connection to the first node that accepts a connection.
    """

    @classmethod
    def configured(
        cls, bootstrap: str, kafka_settings: Mapping[str, str] | None = None
    ) -> PasswordClient:
        """A client of the nodes at ``bootstrap``; this method does not connect.

        Args:
            bootstrap: ``HOST:PORT[,HOST:PORT]``.
            kafka_settings: a client's settings in Kafka's keys, as in a ``--command-config`` file.

        Raises:
            InvalidRequest: an address or a setting is invalid.
        """
        return cls(parse_addresses(bootstrap), client_settings(kafka_settings or {}))

    def __init__(self, nodes: Sequence[Address], settings: ClientSettings) -> None:
        self._nodes = tuple(nodes)
        self._settings = settings
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metalog-passwords")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def is_offered(self) -> bool:
        """Whether the connection is TLS, and the node supports KIP-506's request."""
        return self.is_encrypted and self.is_supported()

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection is TLS."""
        return self._settings.security.tls is not None

    def is_supported(self) -> bool:
        """Whether the node supports KIP-506's request."""
        with self._connected() as connection:
            return SCRAM_PASSWORD in connection.versions

    def set_scram_password(self, credentials: Sequence[NewPassword]) -> SetScramPasswordResult:
        """Set or delete passwords in one request.

        Returns:
            A future for each user and mechanism. The exception of a future is ``PasswordRefused``,
            or the request's error, usually an ``InvalidRequest``.

        Raises:
            EncryptionRequired: the connection would not be TLS; nothing was sent.
        """
        if self._settings.security.tls is None:
            raise EncryptionRequired(
                "a password is sent over TLS only; set security.protocol to SSL or SASL_SSL"
            )
        values: dict[ScramEntity, Future[None]] = {each.entity: Future() for each in credentials}
        self._thread.submit(self._carry_out, tuple(credentials), values)
        return SetScramPasswordResult(values)

    def close(self) -> None:
        """Wait for the requests in flight. A caller may repeat the call."""
        self._thread.shutdown()

    def _carry_out(
        self, credentials: Sequence[NewPassword], values: Mapping[ScramEntity, Future[None]]
    ) -> None:
        request = WireScramPasswordRequest(
            credentials=tuple(
                WireScramCredentials(
                    username=each.entity.user,
                    hash_type=int(each.entity.mechanism),  # type: ignore[arg-type]
                    password=each.password,
                )
                for each in credentials
            )
        )
        try:
            with self._connected() as connection:
                connection.version(SCRAM_PASSWORD, _VERSIONS)
                errors = _error_of_each(connection.ask(request))
        except Exception as error:
            for future in values.values():
                future.set_exception(error)
            return
        for entity, future in values.items():
            trouble = errors.get(entity, "the node's answer does not mention this credential")
            if trouble is None:
                future.set_result(None)
            else:
                future.set_exception(PasswordRefused(f"{entity.user}: {trouble}"))

    def _connected(self) -> Connection:
        return first_connection(self._nodes, self._settings)


def _error_of_each(answer: WireScramPasswordResponse) -> dict[tuple[str, int], str | None]:
    """The error or None, by user and code of the mechanism."""
    return {
        (user.username, hashed.hash_type): (
            None if not user.error_code else user.error_message or error_name(user.error_code)
        )
        for hashed in answer.hash_results
        for user in hashed.user_results
    }
