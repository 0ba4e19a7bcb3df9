"""SCRAM in Kafka: the mechanisms, one stored credential, and its derivation from a password.

As in Kafka, a password is UTF-8 and SASLprep is not applied. Sources: RFC 5802 section 3,
RFC 7677, KIP-84, KIP-554. This module must not know records, images or the wire, and it does not
draw random salts.
"""

from __future__ import annotations

import operator
from enum import IntEnum
from typing import Final, NamedTuple

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384
SALT_BYTES: Final = 24
"""The length, in bytes, of the salts that this project draws."""
MOST_NAME_BYTES: Final = 1 << 10
"""The longest user name, in bytes of UTF-8. Logins and credentials with longer names are refused.

With all characters escaped, the name fits into the longest request that a node accepts before a
login."""
MOST_SALT_BYTES: Final = 1 << 10
"""The longest salt, in bytes. A node sends the salt to anybody who names the user."""


class ScramMechanism(IntEnum):
    """``org.apache.kafka.common.security.scram.internals.ScramMechanism``; codes as in records."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        """The mechanism's name in SASL and in Kafka's tools (RFC 7677)."""
        return self.name.replace("_", "-")

    @property
    def short_name(self) -> str:
        """The hash's name in KIP-506's configuration: SHA256 or SHA512."""
        return self.hash_name.upper()

    @property
    def hash_name(self) -> str:
        """The hash's name in ``hashlib``."""
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"


class ScramCredential(NamedTuple):
    """The stored form of a password on a server (RFC 5802, section 3); ``repr`` hides it."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def is_of(self, mechanism: ScramMechanism, password: str) -> bool:
        """Whether this credential was derived from ``password`` by ``mechanism``.

        Do not call this method on the thread of an event loop, because a call takes milliseconds of
        CPU. The time does not depend on the result.
        """
        import hmac

        salted = salted_password(mechanism, password, self.salt, self.iterations)
        other = credential_of(mechanism, salted, self.salt, self.iterations)
        return hmac.compare_digest(other.stored_key, self.stored_key)

    def __repr__(self) -> str:
        return (
            "ScramCredential(salt=[hidden], stored_key=[hidden], server_key=[hidden], "
            f"iterations={self.iterations})"
        )


def salted_password(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
) -> bytes:
    """RFC 5802's SaltedPassword. Admin clients send it instead of the password (KIP-554)."""
    from hashlib import pbkdf2_hmac

    return pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)


def credential_of(
    mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """The credential that a server stores; ``salted`` is RFC 5802's SaltedPassword."""
    import hashlib
    import hmac

    client_key = hmac.digest(salted, b"Client Key", mechanism.hash_name)
    return ScramCredential(
        salt=salt,
        stored_key=hashlib.new(mechanism.hash_name, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", mechanism.hash_name),
        iterations=iterations,
    )


def client_proof(mechanism: ScramMechanism, salted: bytes, auth_message: bytes) -> bytes:
    """RFC 5802's ClientProof: proves, in this exchange only, that the client knows the password."""
    import hashlib
    import hmac

    client_key = hmac.digest(salted, b"Client Key", mechanism.hash_name)
    stored_key = hashlib.new(mechanism.hash_name, client_key).digest()
    signature = hmac.digest(stored_key, auth_message, mechanism.hash_name)
    return bytes(map(operator.xor, client_key, signature))


def is_client_proof(
    mechanism: ScramMechanism, stored_key: bytes, proof: bytes, auth_message: bytes
) -> bool:
    """Whether ``proof`` is RFC 5802's ClientProof for the password of ``stored_key``."""
    import hashlib
    import hmac

    signature = hmac.digest(stored_key, auth_message, mechanism.hash_name)
    if len(proof) != len(signature):
        return False
    client_key = bytes(map(operator.xor, proof, signature))
    return hmac.compare_digest(hashlib.new(mechanism.hash_name, client_key).digest(), stored_key)


def server_signature(mechanism: ScramMechanism, server_key: bytes, auth_message: bytes) -> bytes:
    """RFC 5802's ServerSignature: proves that the server knows the password's ServerKey."""
    import hmac

    return hmac.digest(server_key, auth_message, mechanism.hash_name)
