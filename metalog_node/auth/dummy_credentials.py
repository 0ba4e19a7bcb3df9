"""Dummy credentials: users that do not exist get a salt and iterations like those of real users.

Before a client has proven anything it sees a salt and a number of iterations. For an unknown
name they have the form of one real credential, its model, and follow from that model's stored
key: all nodes of a cluster show the same, after a restart too, and they change with the model's
password, as a real user's would. Rendezvous hashing chooses the model: each candidate's score
for a name is a keyed hash, so neighbours by name have nothing in common, and a change of one
user moves only the names that choose it. The candidates are a few users of each form, weighted
by how many have it, so that the work is bounded however many users there are. A form is that of
all mechanisms by which a user logs in: a name has one user for its model by each of them, or a
pair that no user has would tell that nobody has the name. This module must not know logins.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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


class _Model(NamedTuple):
    form: _Form
    stored_key: bytes

    def __repr__(self) -> str:
        return f"_Model(form={self.form}, stored_key=[hidden])"


_Models = Mapping[ScramMechanism, _Model]
"""Of one user, by each mechanism that it logs in by."""


class _Candidate(NamedTuple):
    """``key`` is of all its models' stored keys, in the order of the mechanisms."""

    models: _Models
    key: bytes
    weight: float

    def __repr__(self) -> str:
        return "_Candidate(models=[hidden], key=[hidden])"


class DummyCredentials:
    """``known`` are the credentials of all users, by mechanism and name; ``secret`` is the key
    where nobody logs in by a mechanism."""

    def __init__(
        self, known: Mapping[ScramMechanism, Mapping[str, ScramCredential]], secret: bytes
    ) -> None:
        users = _users(known)
        nobody = _Model(_Form(_BASE_36, None, MIN_ITERATIONS), secret)
        self._candidates = _candidates(users)
        self._having = {
            each: _candidates({each: models[each]} for models in users if each in models)
            or [_Candidate({each: nobody}, secret, 1.0)]
            for each in ScramMechanism
        }

    def of(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        """A credential that no password fits. The work is the same for every ``user``.

        The model is one user for both mechanisms; where that one lacks ``mechanism``, another
        that has it, as a user who lacks it is shown one.
        """
        own = f"{mechanism.name} {user}".encode()
        model = _chosen(self._having[mechanism], own)[mechanism]
        if self._candidates:
            model = _chosen(self._candidates, user.encode()).get(mechanism, model)
        key_bytes = hashlib.new(mechanism.hash_name).digest_size
        form = model.form
        drawn = hashlib.shake_256(hmac.digest(model.stored_key, b"decoy " + own, "sha512"))
        wanted = (_KAFKAS_BITS + 7) // 8 if form.size is None else form.size
        random = drawn.digest(2 * key_bytes + wanted)
        stored_key, rest = random[:key_bytes], random[key_bytes:]
        server_key, salt = rest[:key_bytes], rest[key_bytes:]
        return ScramCredential(_written(salt, form), stored_key, server_key, form.iterations)


def _users(known: Mapping[ScramMechanism, Mapping[str, ScramCredential]]) -> Sequence[_Models]:
    """What each user who can log in shows of itself."""
    users: defaultdict[str, dict[ScramMechanism, _Model]] = defaultdict(dict)
    for mechanism, credentials in sorted(known.items()):
        for user, (salt, stored_key, _, iterations) in credentials.items():
            if stored_key and iterations >= MIN_ITERATIONS:
                users[user][mechanism] = _Model(_Form(*_kind(salt), iterations), stored_key)
    return list(users.values())


def _candidates(users: Iterable[_Models]) -> list[_Candidate]:
    """Of each form those of the lowest keys: a sample that nobody without the keys knows, and
    of which a change of one user changes one."""
    forms: defaultdict[tuple[object, ...], list[tuple[bytes, _Models]]] = defaultdict(list)
    for models in users:
        form = tuple((mechanism, model.form) for mechanism, model in models.items())
        key = b"".join(model.stored_key for model in models.values())
        forms[form].append((key, models))
    found = [
        _Candidate(models, key, len(alike) / min(len(alike), _OF_EACH_FORM))
        for alike in forms.values()
        for key, models in nsmallest(_OF_EACH_FORM, alike, key=_key)
    ]
    return nsmallest(MOST_CANDIDATES, found, key=lambda each: each.key)


def _key(alike: tuple[bytes, _Models]) -> bytes:
    return alike[0]


def _chosen(candidates: Iterable[_Candidate], seed: bytes) -> _Models:
    return max(candidates, key=lambda each: _score(each, seed)).models


def _score(candidate: _Candidate, seed: bytes) -> float:
    """Weighted rendezvous hashing: a candidate wins with a probability in proportion to its
    weight."""
    drawn = hmac.digest(candidate.key, b"model " + seed, "sha256")[:_SCORE_BYTES]
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
