"""Reads a client's key and certificates from a PKCS12 keystore.

Python's ``ssl`` reads only PEM. No error contains a secret. This module must not open any file.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import load_key_and_certificates


class Identity(NamedTuple):
    """A client's key and certificates; ``password`` decrypts the key in ``pem``."""

    pem: str
    password: str

    def __repr__(self) -> str:
        return "Identity([hidden])"


def pkcs12_identity(data: bytes, store_password: str | None) -> Identity:
    """The private key of the keystore, with its certificate chain.

    Raises:
        ValueError: ``data`` is not a keystore, the password is wrong, or no key with a certificate
            is in the keystore.
    """
    store_bytes = None if store_password is None else store_password.encode()
    key, certificate, chain = load_key_and_certificates(data, store_bytes)
    if key is None or certificate is None:
        raise ValueError("no private key with its certificate is in the keystore")
    password = secrets.token_urlsafe()
    encryption = BestAvailableEncryption(password.encode())
    parts = [
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption),
        *(each.public_bytes(Encoding.PEM) for each in (certificate, *chain)),
    ]
    return Identity(b"".join(parts).decode("ascii"), password)
