"""Reads and writes SCRAM's messages for a server (RFC 5802, section 7).

Messages are read as in Kafka, with exceptions that follow the RFC:

- a name or an extension's value may have non-ASCII characters;
- ``y`` (channel binding) is accepted, and means ``n``;
- a mandatory extension (``m=``) before the name is refused.

Reading takes time linear in the message's length, and raises only ``ValueError``.
This module must not know who may log in.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import Final, NamedTuple

from metalog.scram import ScramCredential

_NAME: Final = r"(?:[^\x00=,]++|=2C|=3D)++"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]++"
_EXTENSIONS: Final = r"(?:,[A-Za-z]++=[^\x00,]++)*"
_BASE64: Final = r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?"
_CLIENT_FIRST: Final = re.compile(
    rf"(?P<gs2>[ny],(?:a=(?P<authorization>{_NAME}))?,)"
    rf"(?P<bare>n=(?P<user>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS}))"
)
_CLIENT_FINAL: Final = re.compile(
    rf"(?P<bare>c=(?P<binding>{_BASE64}),r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)
_DELEGATION: Final = "tokenauth"


class ClientFirst(NamedTuple):
    """``bare`` is the message without its ``gs2_header``. If ``is_by_token``, the client logs in by
    a delegation token, and ``user`` is the token's id (KIP-48)."""

    gs2_header: str
    authorization_id: str
    user: str
    nonce: str
    is_by_token: bool
    bare: str


class ClientFinal(NamedTuple):
    channel_binding: bytes
    nonce: str
    proof: bytes
    without_proof: str

    def __repr__(self) -> str:
        return "ClientFinal([hidden])"


def read_client_first(message: str) -> ClientFirst:
    """``ValueError`` if the message is malformed; the error does not quote the message."""
    match = _CLIENT_FIRST.fullmatch(message)
    if match is None:
        raise ValueError("a first message that is not valid by RFC 5802")
    extensions = dict(extension.split("=", 1) for extension in match["extensions"].split(",")[1:])
    return ClientFirst(
        match["gs2"],
        _unescaped(match["authorization"] or ""),
        _unescaped(match["user"]),
        match["nonce"],
        extensions.get(_DELEGATION, "").lower() == "true",
        match["bare"],
    )


def read_client_final(message: str) -> ClientFinal:
    """``ValueError`` if the message is malformed; the error does not quote the message."""
    match = _CLIENT_FINAL.fullmatch(message)
    if match is None:
        raise ValueError("a final message that is not valid by RFC 5802")
    binding, proof = b64decode(match["binding"]), b64decode(match["proof"])
    return ClientFinal(binding, match["nonce"], proof, match["bare"])


def server_first(nonce: str, credential: ScramCredential) -> str:
    return f"r={nonce},s={b64encode(credential.salt).decode()},i={credential.iterations}"


def server_final(signature: bytes) -> str:
    return f"v={b64encode(signature).decode()}"


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")
