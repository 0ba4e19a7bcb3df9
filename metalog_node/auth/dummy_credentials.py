"""Dummy credentials: unknown users get a salt and iterations like those of real users.

A client sees a salt and an iteration count before it has proven its identity. For an unknown name,
a real user is the model. The dummy credential has the model's iteration count, and a salt of the
same form. The salt is derived from the model's stored key, so all nodes with the same users show
the same salt, even after a restart.

Rendezvous hashing chooses the model, so that a change of one user changes the models of few names.
One model gives the dummy credentials of all mechanisms, because a combination that no real user has
would reveal an unknown name. To bound the work, only a few users with the same forms are
candidates, weighted by the number of users with these forms. This module must not know logins.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from math import log
from operator import itemgetter
from typing import Final, NamedTuple

from metalog.scram import MIN_ITERATIONS, ScramCredential, ScramMechanism

MOST_CANDIDATES: Final = 64
"""The maximum length of a list of candidates. Each SCRAM login computes the scores of two lists."""

_MOST_CANDIDATES_PER_FORM: Final = 4
_BASE_36: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"
_KAFKA_SALT_BITS: Final = 130
"""Kafka's tools write a number of this many bits in base 36."""
_KAFKA_SALT_LENGTHS: Final = range(20, 27)
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
"""The alphabets of other tools' salts, the narrowest first."""
_ANY_BYTES: Final = bytes(range(256))
_SCORE_BYTES: Final = 8


class _Form(NamedTuple):
    """All that a client sees of a credential, except the salt's value. ``size`` is None for salts
    of Kafka's tools, because their length varies."""

    alphabet: bytes
    size: int | None
    iterations: int


class _Model(NamedTuple):
    form: _Form
    stored_key: bytes

    def __repr__(self) -> str:
        return f"_Model(form={self.form}, stored_key=[hidden])"


_Models = Mapping[ScramMechanism, _Model]
"""All credentials of one real user, by mechanism."""


class _Candidate(NamedTuple):
    """``key`` joins the stored keys of ``models``."""

    models: _Models
    key: bytes
    weight: float

    def __repr__(self) -> str:
        return "_Candidate(models=[hidden], key=[hidden])"


class DummyCredentials:
    """Makes a dummy credential for any name. ``known`` are the credentials of all users, by
    mechanism and name. For a mechanism without users, the model's stored key is ``secret``."""

    def __init__(
        self, known: Mapping[ScramMechanism, Mapping[str, ScramCredential]], secret: bytes
    ) -> None:
        users = _users(known)
        nobody = _Model(_Form(_BASE_36, None, MIN_ITERATIONS), secret)
        self._candidates = _candidates(users)
        self._candidates_with = {
            mechanism: _candidates(
                {mechanism: models[mechanism]} for models in users if mechanism in models
            )
            or [_Candidate({mechanism: nobody}, secret, 1.0)]
            for mechanism in ScramMechanism
        }

    def of(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        """A credential that no password fits. The work is the same for every ``user``.

        If the model of ``user`` has no credential of ``mechanism``, another user is the model.
        """
        own = f"{mechanism.name} {user}".encode()
        model = _chosen(self._candidates_with[mechanism], own)[mechanism]
        if self._candidates:
            model = _chosen(self._candidates, user.encode()).get(mechanism, model)
        key_bytes = hashlib.new(mechanism.hash_name).digest_size
        form = model.form
        drawn = hashlib.shake_256(hmac.digest(model.stored_key, b"decoy " + own, "sha512"))
        wanted = (_KAFKA_SALT_BITS + 7) // 8 if form.size is None else form.size
        random = drawn.digest(2 * key_bytes + wanted)
        stored_key, rest = random[:key_bytes], random[key_bytes:]
        server_key, random_salt = rest[:key_bytes], rest[key_bytes:]
        return ScramCredential(_salt(random_salt, form), stored_key, server_key, form.iterations)


def _users(known: Mapping[ScramMechanism, Mapping[str, ScramCredential]]) -> Sequence[_Models]:
    """The credentials of each user who can log in, as models."""
    users: defaultdict[str, dict[ScramMechanism, _Model]] = defaultdict(dict)
    for mechanism, credentials in sorted(known.items()):
        for user, (salt, stored_key, _, iterations) in credentials.items():
            if stored_key and iterations >= MIN_ITERATIONS:
                users[user][mechanism] = _Model(_Form(*_kind(salt), iterations), stored_key)
    return list(users.values())


def _candidates(users: Iterable[_Models]) -> list[_Candidate]:
    """For each form, the users with the lowest stored keys, because nobody can predict this sample
    without the keys. A change of one user changes few candidates."""
    forms: defaultdict[tuple[object, ...], list[tuple[bytes, _Models]]] = defaultdict(list)
    for models in users:
        form = tuple((mechanism, model.form) for mechanism, model in models.items())
        key = b"".join(model.stored_key for model in models.values())
        forms[form].append((key, models))
    candidates = [
        _Candidate(models, key, len(alike) / min(len(alike), _MOST_CANDIDATES_PER_FORM))
        for alike in forms.values()
        for key, models in nsmallest(_MOST_CANDIDATES_PER_FORM, alike, key=itemgetter(0))
    ]
    return nsmallest(MOST_CANDIDATES, candidates, key=lambda each: each.key)


def _chosen(candidates: Iterable[_Candidate], seed: bytes) -> _Models:
    return max(candidates, key=lambda each: _score(each, seed)).models


def _score(candidate: _Candidate, seed: bytes) -> float:
    """Weighted rendezvous hashing: a candidate wins with a probability in proportion to its
    weight."""
    drawn = hmac.digest(candidate.key, b"model " + seed, "sha256")[:_SCORE_BYTES]
    share = (int.from_bytes(drawn) + 0.5) / (1 << 8 * _SCORE_BYTES)
    return -candidate.weight / log(share)


def _kind(salt: bytes) -> tuple[bytes, int | None]:
    """The ``alphabet`` and ``size`` of the salt's form."""
    if not salt.isascii() or salt.translate(None, _PRINTABLE):
        return _ANY_BYTES, len(salt)
    if len(salt) in _KAFKA_SALT_LENGTHS and not salt.translate(None, _BASE_36):
        return _BASE_36, None
    return next(alphabet for alphabet in _ALPHABETS if not salt.translate(None, alphabet)), len(
        salt
    )


def _salt(random: bytes, form: _Form) -> bytes:
    if form.size is not None:
        alphabet = form.alphabet
        return bytes(alphabet[each * len(alphabet) >> 8] for each in random)
    number = int.from_bytes(random) >> (len(random) * 8 - _KAFKA_SALT_BITS)
    digits = bytearray()
    while number:
        number, digit = divmod(number, len(_BASE_36))
        digits.append(_BASE_36[digit])
    return bytes(reversed(digits))
