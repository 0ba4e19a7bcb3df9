"""The client's side of SASL in Kafka: PLAIN (RFC 4616) and SCRAM (RFC 5802, RFC 7677).

As in Kafka, names and passwords are UTF-8 and SASLprep is not applied. With SCRAM, the server must
prove that it knows the password. No error or ``repr`` contains a secret. This module must not know
how tokens are sent.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from metalog.errors import InvalidRequest
from metalog.ids import Entropy
from metalog.scram import (
    MIN_ITERATIONS,
    ScramMechanism,
    client_proof,
    credential_of,
    salted_password,
    server_signature,
)
from metalog.text.whole_numbers import whole_number

PLAIN: Final = "PLAIN"
MECHANISMS: Final = (PLAIN, *(each.mechanism_name for each in ScramMechanism))
"""The SASL names of the supported mechanisms."""
MOST_ITERATIONS: Final = 1 << 20
"""The most SCRAM iterations that a server may request, because iterations cost CPU."""

_NONCE_BYTES: Final = 24
_GS2_HEADER: Final = "n,,"
"""No channel binding and no authorization identity (RFC 5802)."""


class AuthenticationFailed(InvalidRequest):
    """The server refused the client, or the client refused the server."""


class LoginUnavailable(InvalidRequest):
    """The server cannot check the login now; another attempt can succeed."""


class SaslCredentials(NamedTuple):
    """A login; ``mechanism`` is a SASL name, and ``repr`` hides the password."""

    mechanism: str
    username: str
    password: str

    def __repr__(self) -> str:
        shown = f"mechanism={self.mechanism!r}, username={self.username!r}"
        return f"SaslCredentials({shown}, [hidden])"


class Exchange(Protocol):
    """One authentication."""

    @property
    def is_done(self) -> bool:
        """Whether the exchange is complete, with the server's proof."""
        ...

    def first(self) -> bytes: ...

    def answer(self, challenge: bytes) -> bytes | None:
        """The next token to send, or None; ``AuthenticationFailed`` if ``challenge`` is invalid."""
        ...


def exchange_of(credentials: SaslCredentials, entropy: Entropy) -> Exchange:
    """The exchange for ``credentials``; ``InvalidRequest`` if the mechanism cannot be used."""
    if credentials.mechanism == PLAIN:
        if "\0" in credentials.username + credentials.password:
            raise InvalidRequest("a NUL in a name or password cannot be sent by SASL PLAIN")
        return _Plain(credentials)
    for mechanism in ScramMechanism:
        if mechanism.mechanism_name == credentials.mechanism:
            return _Scram(mechanism, credentials, b64encode(entropy(_NONCE_BYTES)).decode())
    raise InvalidRequest(
        f"SASL mechanism {credentials.mechanism} is not supported;"
        f" use one of {', '.join(MECHANISMS)}"
    )


class _Plain:
    def __init__(self, credentials: SaslCredentials) -> None:
        self._credentials = credentials
        self.is_done = False

    def first(self) -> bytes:
        return f"\0{self._credentials.username}\0{self._credentials.password}".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        self.is_done = True
        return None


class _Scram:
    def __init__(self, mechanism: ScramMechanism, credentials: SaslCredentials, nonce: str) -> None:
        self._mechanism = mechanism
        self._password = credentials.password
        name = credentials.username.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={nonce}"
        self._nonce = nonce
        self._expected: bytes | None = None
        self._next: Callable[[bytes], bytes | None] = self._prove
        self.is_done = False

    def first(self) -> bytes:
        return f"{_GS2_HEADER}{self._bare}".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        return self._next(challenge)

    def _prove(self, challenge: bytes) -> bytes:
        """Read the server-first-message; return the client-final-message."""
        fields = _fields(challenge, "r", "s", "i")
        nonce = fields["r"]
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise _distrusted("its nonce is not a continuation of ours")
        iterations = whole_number(fields["i"]) or 0
        if not MIN_ITERATIONS <= iterations <= MOST_ITERATIONS:
            accepted = f"{MIN_ITERATIONS} to {MOST_ITERATIONS} are accepted"
            raise _distrusted(f"it requests {fields['i'][:20]} iterations; {accepted}")
        salted = salted_password(self._mechanism, self._password, _decoded(fields["s"]), iterations)
        bare = f"c={b64encode(_GS2_HEADER.encode()).decode()},r={nonce}"
        message = b",".join((self._bare.encode(), challenge, bare.encode()))
        server_key = credential_of(self._mechanism, salted, b"", iterations).server_key
        self._expected = server_signature(self._mechanism, server_key, message)
        self._next = self._verify
        proof = client_proof(self._mechanism, salted, message)
        return f"{bare},p={b64encode(proof).decode()}".encode()

    def _verify(self, challenge: bytes) -> None:
        signature = _decoded(_fields(challenge, "v")["v"])
        if self._expected is None or not hmac.compare_digest(signature, self._expected):
            raise _distrusted("its signature is wrong: it does not know the password")
        self.is_done = True


def _fields(challenge: bytes, *names: str) -> dict[str, str]:
    """The attributes ``names`` at the start of a server's message; extensions may follow."""
    parts = [part.partition("=") for part in challenge.decode("utf-8", "replace").split(",")]
    if parts[0][0] == "e":
        raise AuthenticationFailed(f"the server refused the login: {parts[0][2][:100]}")
    extensions = parts[len(names) :]
    has_names = [name for name, _, _ in parts[: len(names)]] == list(names)
    if not has_names or not all(_is_extension(name, value) for name, _, value in extensions):
        raise _distrusted("its answer is not a SCRAM message")
    return {name: value for name, _, value in parts[: len(names)]}


def _is_extension(name: str, value: str) -> bool:
    return name.isascii() and name.isalpha() and value != "" and "\0" not in value


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _distrusted("its answer is not a SCRAM message") from None


def _distrusted(why: str) -> AuthenticationFailed:
    return AuthenticationFailed(f"the server cannot be trusted: {why}")
