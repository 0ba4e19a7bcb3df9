"""Dummy credentials: users that do not exist get a salt and iterations like those of real users.

Before a client has proven anything it sees a salt and a number of iterations. For an unknown
name they have the form of one real credential, its model, and follow from that model's stored
key: all nodes of a cluster show the same, after a restart too, and they change with the model's
password, as a real user's would. Rendezvous hashing chooses the model: each candidate's score
for a name is a keyed hash, so neighbours by name have nothing in common, and a change of one
user moves only the names that choose it. The candidates are a few users of each form, weighted
by how many have it, so that the work is bounded however many users there are. This module must
not know logins.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Iterable
from heapq import nsmallest
from math import log
from typing import Final, NamedTuple

from metalog.scram import MIN_ITERATIONS, ScramCredential, ScramMechanism

MOST_CANDIDATES: Final = 64
"""So many scores are computed for each name that a client sends."""

_OF_EACH_FORM: Final = 4
_BASE_36: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"
_KAFKAS_BITS: Final = 130
"""Kafka's tools make a salt of a number of so many bits, written to the base 36."""
_KAFKAS_LENGTHS: Final = range(20, 27)
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PRINTABLE: Final = bytes(range(0x20, 0x7F))
_ALPHABETS: Final = (
    b"0123456789abcdef",
    b"0123456789ABCDEF",
    _BASE_36,
    b"0123456789" + _LETTERS,
    b"0123456789+/=" + _LETTERS,
    _PRINTABLE,
)
"""What the salts of other tools are written in, the narrowest first; else in any bytes."""
_ANY_BYTES: Final = bytes(range(256))
_SCORE_BYTES: Final = 8


class _Form(NamedTuple):
    """What a client sees of a credential, but for the salt's value. Kafka's own salts have no
    ``size``: it follows from the number."""

    alphabet: bytes
    size: int | None
    iterations: int


class _Candidate(NamedTuple):
    form: _Form
    stored_key: bytes
    weight: float


class Decoys:
    """``known`` are the credentials of all that log in by ``mechanism``; ``secret`` is the
    key where there is none."""

    def __init__(
        self, mechanism: ScramMechanism, known: Iterable[ScramCredential], secret: bytes
    ) -> None:
        self._mechanism = mechanism
        self._key_bytes = hashlib.new(mechanism.hash_name).digest_size
        self._candidates = _candidates(known) or [
            _Candidate(_Form(_BASE_36, None, MIN_ITERATIONS), secret, 1.0)
        ]

    def of(self, user: str) -> ScramCredential:
        """A credential that no password fits. The work is the same for every ``user``."""
        seed = f"{self._mechanism.name} {user}".encode()
        model = max(self._candidates, key=lambda each: _score(each, seed))
        size = model.form.size
        drawn = hashlib.shake_256(hmac.digest(model.stored_key, b"decoy " + seed, "sha512"))
        wanted = (_KAFKAS_BITS + 7) // 8 if size is None else size
        random = drawn.digest(2 * self._key_bytes + wanted)
        stored_key, rest = random[: self._key_bytes], random[self._key_bytes :]
        server_key, salt = rest[: self._key_bytes], rest[self._key_bytes :]
        return ScramCredential(
            _written(salt, model.form), stored_key, server_key, model.form.iterations
        )


def _candidates(known: Iterable[ScramCredential]) -> list[_Candidate]:
    """Of each form those of the lowest stored keys: a sample that nobody without the keys knows,
    and of which a change of one user changes one."""
    forms: defaultdict[tuple[bytes, int | None, int], list[bytes]] = defaultdict(list)
    for salt, stored_key, _, iterations in known:
        if stored_key and iterations >= MIN_ITERATIONS:
            forms[(*_kind(salt), iterations)].append(stored_key)
    found = [
        _Candidate(_Form(*form), stored_key, len(keys) / min(len(keys), _OF_EACH_FORM))
        for form, keys in forms.items()
        for stored_key in nsmallest(_OF_EACH_FORM, keys)
    ]
    return nsmallest(MOST_CANDIDATES, found, key=lambda each: each.stored_key)


def _score(candidate: _Candidate, seed: bytes) -> float:
    """Weighted rendezvous hashing: a candidate wins with a probability in proportion to its
    weight."""
    drawn = hmac.digest(candidate.stored_key, b"model " + seed, "sha256")[:_SCORE_BYTES]
    share = (int.from_bytes(drawn) + 0.5) / (1 << 8 * _SCORE_BYTES)
    return -candidate.weight / log(share)


def _kind(salt: bytes) -> tuple[bytes, int | None]:
    """Its alphabet, and its size unless it is one of Kafka's."""
    if not salt.isascii() or salt.translate(None, _PRINTABLE):
        return _ANY_BYTES, len(salt)
    if len(salt) in _KAFKAS_LENGTHS and not salt.translate(None, _BASE_36):
        return _BASE_36, None
    return next(each for each in _ALPHABETS if not salt.translate(None, each)), len(salt)


def _written(random: bytes, form: _Form) -> bytes:
    if form.size is not None:
        alphabet = form.alphabet
        return bytes(alphabet[each * len(alphabet) >> 8] for each in random)
    number = int.from_bytes(random) >> (len(random) * 8 - _KAFKAS_BITS)
    digits = bytearray()
    while number:
        number, digit = divmod(number, len(_BASE_36))
        digits.append(_BASE_36[digit])
    return bytes(reversed(digits))
