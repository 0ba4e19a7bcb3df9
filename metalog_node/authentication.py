"""The server's side of SASL: who a client is, by SCRAM (through scramp) or by PLAIN.

An unknown user is led through the same exchange as a known one and told the same at its end,
so that nobody learns which names exist. Names are taken as they come, without SASLprep, as
Kafka takes them. This module must not know how tokens travel, nor show what is secret.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import scramp

from metalog.errors import InvalidRequest
from metalog.ids import Entropy
from metalog.ports import CredentialLookup
from metalog.principal import KafkaPrincipal
from metalog.scram import SALT_BYTES, ScramCredential, ScramMechanism
from metalog_node.decoys import LEAST_SALT_BYTES

PLAIN: Final = "PLAIN"

_SCRAM: Final = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}
MECHANISMS: Final = (PLAIN, *_SCRAM)
_USER: Final = "User"
_SHOWN: Final = 100
"""So much of a name that anybody may have sent is shown."""


class LoginRefused(InvalidRequest):
    """The one answer to every login that fails, in Kafka's words; the reason is for the log."""

    def __init__(self, mechanism: str, reason: str) -> None:
        super().__init__(
            "Authentication failed during authentication due to invalid credentials "
            f"with SASL mechanism {mechanism}"
        )
        self.reason = reason


class Login(Protocol):
    """One exchange. ``principal`` is None until the client has proven who it is."""

    principal: KafkaPrincipal | None

    def answer(self, token: bytes) -> bytes:
        """What to send for the client's next token; ``LoginRefused`` ends the exchange."""
        ...


class Users(CredentialLookup, Protocol):
    """Those who may log in by SCRAM, and what everybody else is shown."""

    def decoy(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        """Of a ``user`` that does not exist, always the same: nobody's password."""
        ...


class Logins(NamedTuple):
    """What a listener's clients may log in by. ``passwords`` are those of PLAIN, by user."""

    mechanisms: Sequence[str]
    users: Users
    passwords: Mapping[str, str]
    entropy: Entropy

    def __repr__(self) -> str:
        return f"Logins(mechanisms={self.mechanisms!r}, [hidden])"

    def begin(self, mechanism: str) -> Login | None:
        """None for a mechanism that is not enabled."""
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
            raise LoginRefused(PLAIN, "a token that RFC 4616 does not know") from None
        if authorization_id not in ("", user):
            raise LoginRefused(PLAIN, "the client asks to act as somebody else")
        known = self._passwords.get(user, "")
        is_right = hmac.compare_digest(known.encode(), password.encode())
        if not (user and password and is_right):
            raise LoginRefused(PLAIN, f"unknown user or wrong password: {user[:_SHOWN]!r}")
        self.principal = KafkaPrincipal(_USER, user)
        return b""


class _Scram:
    def __init__(self, mechanism: ScramMechanism, logins: Logins) -> None:
        self._mechanism = mechanism
        self._logins = logins
        self._user = ""
        self._trouble: str | None = None
        nonce = logins.entropy(SALT_BYTES).hex()
        declared = scramp.ScramMechanism(mechanism.mechanism_name)
        self._server = declared.make_server(lambda _: self._known(), s_nonce=nonce)
        self._next: Callable[[str], str] = self._first
        self.principal: KafkaPrincipal | None = None

    def answer(self, token: bytes) -> bytes:
        try:
            return self._next(token.decode()).encode()
        except Exception as error:  # scramp lets TypeError and others out where a message is odd
            reason = f"{self._trouble or error} (user {self._user[:_SHOWN]!r})"
            raise LoginRefused(self._mechanism.mechanism_name, reason) from None

    def _first(self, message: str) -> str:
        self._user = _user_of(message)
        self._server.set_client_first(message)
        self._next = self._final
        return str(self._server.get_server_first())

    def _final(self, message: str) -> str:
        self._next = _nothing_more
        self._server.set_client_final(message)
        answer = str(self._server.get_server_final())
        self.principal = KafkaPrincipal(_USER, self._user)
        return answer

    def _known(self) -> tuple[bytes, bytes, bytes, int]:
        """A decoy's for an unknown user, and for one whose salt scramp does not take."""
        users, mechanism = self._logins.users, self._mechanism
        known = users.scram(mechanism, self._user)
        if known is None:
            self._trouble = f"nobody of that name logs in by {mechanism.mechanism_name}"
        elif len(known.salt) < LEAST_SALT_BYTES:
            self._trouble = f"a salt of less than {LEAST_SALT_BYTES} bytes; set the password anew"
        if known is None or self._trouble is not None:
            known = users.decoy(mechanism, self._user)
        return known.salt, known.stored_key, known.server_key, known.iterations


def _user_of(client_first: str) -> str:
    """The name in a client-first-message, by RFC 5802: ``=2C`` and ``=3D`` are escapes."""
    for attribute in client_first.split(",")[2:]:
        if attribute.startswith("n="):
            return attribute[2:].replace("=2C", ",").replace("=3D", "=")
    raise ValueError("a first message without a user's name")


def _nothing_more(message: str) -> str:
    raise ValueError("a token after the last one")
