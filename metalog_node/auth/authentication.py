"""The server's side of SASL: authenticates clients by SCRAM or PLAIN.

Nobody learns which users exist: an unknown user takes the same work and gets the same error as a
wrong password. As in Kafka, names are used without SASLprep. This module must not know how tokens
are transferred, nor show secrets.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from metalog.errors import ErrorCode, InvalidRequest
from metalog.ids import Entropy
from metalog.ports import CredentialLookup
from metalog.principal import KafkaPrincipal
from metalog.scram import (
    MIN_ITERATIONS,
    MOST_NAME_BYTES,
    SALT_BYTES,
    ScramCredential,
    ScramMechanism,
    is_client_proof,
    server_signature,
)
from metalog_node.auth.scram_messages import (
    ClientFirst,
    read_client_final,
    read_client_first,
    server_final,
    server_first,
)

PLAIN: Final = "PLAIN"

_SCRAM: Final = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}
MECHANISMS: Final = (PLAIN, *_SCRAM)
_USER: Final = "User"
_SHOWN_LENGTH: Final = 100


class LoginRefused(InvalidRequest):
    """The answer to a failed login, in Kafka's words. ``reason`` is only for the log."""

    code = ErrorCode.SASL_AUTHENTICATION_FAILED

    def __init__(self, mechanism: str, reason: str) -> None:
        super().__init__(
            "Authentication failed during authentication due to invalid credentials "
            f"with SASL mechanism {mechanism}"
        )
        self.reason = reason


class NotReadyForLogins(InvalidRequest):
    """The users are not loaded yet. After this error, clients try again.

    After ``LoginRefused``, clients give up.
    """

    code = ErrorCode.BROKER_NOT_AVAILABLE


class Login(Protocol):
    """One login in progress. ``principal`` is None until the client has proven its identity."""

    principal: KafkaPrincipal | None

    def answer(self, token: bytes) -> bytes:
        """The answer to the client's next token. ``LoginRefused`` if the login fails,
        ``NotReadyForLogins`` if the users are not loaded yet."""
        ...


class Users(CredentialLookup, Protocol):
    """The users that may log in by SCRAM, and dummy credentials for all other names."""

    @property
    def is_loaded(self) -> bool: ...

    def dummy(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        """A credential that no password matches. It stays the same until the users change."""
        ...


class Logins(NamedTuple):
    """The ways to log in on a listener. ``passwords`` maps users to their PLAIN passwords.
    ``sessions_ms`` maps mechanisms to the lifetime of a login (KIP-368). With any other mechanism,
    logins never expire."""

    mechanisms: Sequence[str]
    users: Users
    passwords: Mapping[str, str]
    entropy: Entropy
    sessions_ms: Mapping[str, int] = MappingProxyType({})
    clock: Callable[[], float] = time.monotonic

    def __repr__(self) -> str:
        return f"Logins(mechanisms={self.mechanisms!r}, [hidden])"

    def begin(self, mechanism: str) -> Login | None:
        """A new login; None if ``mechanism`` is not enabled."""
        if mechanism not in self.mechanisms:
            return None
        if mechanism == PLAIN:
            return _Plain(self.passwords)
        return _Scram(_SCRAM[mechanism], self)


class _Plain:
    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.principal: KafkaPrincipal | None = None

    def answer(self, token: bytes) -> bytes:
        try:
            authorization_id, user, password = token.decode().split("\0")
        except ValueError:
            raise LoginRefused(PLAIN, "a token that is not valid by RFC 4616") from None
        if authorization_id not in ("", user):
            raise LoginRefused(PLAIN, "the client asks to act as somebody else")
        if _is_too_long(user):
            raise LoginRefused(PLAIN, _TOO_LONG)
        expected = self._passwords.get(user, "")
        is_right = hmac.compare_digest(expected.encode(), password.encode())
        if not (user and password and is_right):
            raise LoginRefused(PLAIN, f"unknown user or wrong password: {user[:_SHOWN_LENGTH]!r}")
        self.principal = KafkaPrincipal(_USER, user)
        return b""


class _Scram:
    """RFC 5802's server."""

    def __init__(self, mechanism: ScramMechanism, logins: Logins) -> None:
        self._mechanism = mechanism
        self._users = logins.users
        self._nonce = logins.entropy(SALT_BYTES).hex()
        self._user = ""
        self._next: Callable[[str], str] = self._first
        self.principal: KafkaPrincipal | None = None

    def answer(self, token: bytes) -> bytes:
        if not self._users.is_loaded:
            raise NotReadyForLogins(
                "the node is not ready: it has not loaded its users yet; try again"
            )
        try:
            return self._next(token.decode()).encode()
        except ValueError as error:
            about = f" (user {self._user[:_SHOWN_LENGTH]!r})" if self._user else ""
            raise LoginRefused(self._mechanism.mechanism_name, f"{error}{about}") from None

    def _first(self, message: str) -> str:
        self._next = _nothing_more
        client_first = read_client_first(message)
        if _is_too_long(client_first.user):
            raise ValueError(_TOO_LONG)
        self._user = client_first.user
        if client_first.authorization_id not in ("", client_first.user):
            raise ValueError("the client asks to act as somebody else")
        known = self._users.scram(self._mechanism, client_first.user)
        dummy_name = (
            f"{client_first.user}{_DELEGATED}" if client_first.is_by_token else client_first.user
        )
        dummy = self._users.dummy(self._mechanism, dummy_name)
        trouble = self._trouble(client_first, known)
        shown = dummy if known is None or trouble else known
        nonce = client_first.nonce + self._nonce
        answer = server_first(nonce, shown)
        self._next = lambda message: self._final(
            message, client_first, nonce, answer, credential=shown, trouble=trouble
        )
        return answer

    def _trouble(self, client_first: ClientFirst, known: ScramCredential | None) -> str | None:
        """Why this login fails with any password; None if it can succeed."""
        name = self._mechanism.mechanism_name
        if known is None:
            return f"no user of that name has a {name} credential"
        if client_first.is_by_token:
            return "login by delegation token is not supported here"
        if known.iterations < MIN_ITERATIONS:
            return f"fewer than {MIN_ITERATIONS} iterations; set the password again"
        return None

    def _final(
        self,
        message: str,
        client_first: ClientFirst,
        nonce: str,
        server_first_message: str,
        *,
        credential: ScramCredential,
        trouble: str | None,
    ) -> str:
        self._next = _nothing_more
        final = read_client_final(message)
        if final.channel_binding != client_first.gs2_header.encode():
            raise ValueError("the channel binding differs from the first message")
        if final.nonce != nonce:
            raise ValueError("the nonce differs from the exchange")
        text = ",".join((client_first.bare, server_first_message, final.without_proof)).encode()
        mechanism, (_, stored_key, server_key, _) = self._mechanism, credential
        is_proven = is_client_proof(mechanism, stored_key, final.proof, text)
        signature = server_signature(mechanism, server_key, text)
        if trouble is not None or not is_proven:
            raise ValueError(trouble or "wrong password")
        self.principal = KafkaPrincipal(_USER, self._user)
        return server_final(signature)


_DELEGATED: Final = "\0delegated"
"""A login by token gets the dummy credential of its name with this suffix. Without the suffix,
equal salts with and without a token would show that no user has the name."""
_TOO_LONG: Final = f"a name of more than {MOST_NAME_BYTES} bytes"


def _is_too_long(user: str) -> bool:
    return len(user.encode()) > MOST_NAME_BYTES


def _nothing_more(message: str) -> str:
    raise ValueError("a token after the end of the exchange")
