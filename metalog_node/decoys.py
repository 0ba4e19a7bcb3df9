"""The credentials of users that do not exist, so that their logins fail like any other.

Before a client has proven anything it is shown a salt and a number of iterations. For a name
that nobody has they are in the form of somebody's credential, and follow from it: they are the
same on every node of a cluster and after every restart, and change when that password changes.
This module must not know logins.
"""

from __future__ import annotations

import hmac
from bisect import bisect
from collections.abc import Mapping
from typing import Final

from metalog.scram import MIN_ITERATIONS, ScramCredential, ScramMechanism

LEAST_SALT_BYTES: Final = 12
"""A shorter one cannot be logged in by (scramp takes none)."""

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_KAFKAS_BITS: Final = 130
"""Kafka's tools make a salt of a number of so many bits, written to the base 36."""
_KAFKAS_LENGTHS: Final = range(20, 27)


class Decoys:
    """``known`` are all that log in by ``mechanism``; ``secret`` is what follows where there is
    none."""

    def __init__(
        self, mechanism: ScramMechanism, known: Mapping[str, ScramCredential], secret: bytes
    ) -> None:
        self._mechanism = mechanism
        self._known = known
        self._names = sorted(
            name for name, each in known.items() if len(each.salt) >= LEAST_SALT_BYTES
        )
        self._nobody = ScramCredential(b"", secret, b"", MIN_ITERATIONS)

    def of(self, user: str) -> ScramCredential:
        """Nobody's password, in the form of the next user's by name."""
        model = self._nobody
        if self._names:
            model = self._known[self._names[bisect(self._names, user) % len(self._names)]]

        def part(name: str) -> bytes:
            seed = f"{name} {self._mechanism.name} {user}".encode()
            return hmac.digest(model.stored_key, seed, "sha512")

        size = len(model.stored_key)
        return ScramCredential(
            _in_the_form_of(model.salt, part("salt")),
            part("stored key")[:size],
            part("server key")[:size],
            model.iterations,
        )


def _in_the_form_of(salt: bytes, random: bytes) -> bytes:
    if salt and not _is_kafkas(salt):
        return (random * (len(salt) // len(random) + 1))[: len(salt)]
    number = int.from_bytes(random) >> (len(random) * 8 - _KAFKAS_BITS)
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits.encode()


def _is_kafkas(salt: bytes) -> bool:
    return len(salt) in _KAFKAS_LENGTHS and set(salt) <= set(_DIGITS.encode())
