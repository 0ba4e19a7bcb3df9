"""A login with an unknown name shows a dummy salt and iteration count (RFC 5802)."""

from __future__ import annotations

import base64
import hmac
import os
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.image.delta import MetadataDelta
from metalog.image.manifest import NOTHING, Leader, LogManifest
from metalog.image.metadata import MetadataImage
from metalog.image.state.scram import ScramImage
from metalog.image.table import Table
from metalog.scram import ScramCredential, ScramMechanism
from metalog_node.auth.dummy_credentials import MOST_CANDIDATES, DummyCredentials
from metalog_node.publish.publishers import CredentialsPublisher

SHA_256 = ScramMechanism.SCRAM_SHA_256
KAFKAS_SALT = base64.b64decode("MWR0czdjamY4N3V0MDdlejNoeDM4ZTAzY3E=")
"""A salt that kafka-configs made."""
NAMES = [f"user-{each}" for each in range(500)]


def credential(
    salt: bytes = KAFKAS_SALT, iterations: int = 4096, stored_key: bytes = b""
) -> ScramCredential:
    return ScramCredential(salt, stored_key or os.urandom(32), b"s" * 32, iterations)


def dummy(user: str, *known: ScramCredential) -> ScramCredential:
    """The dummies of a newly started node."""
    return of_users(known, os.urandom(32)).of(SHA_256, user)


def of_users(known: Iterable[ScramCredential], secret: bytes) -> DummyCredentials:
    """Users with one mechanism and any names."""
    return DummyCredentials(
        {SHA_256: {f"known-{place}": each for place, each in enumerate(known)}}, secret
    )


def shown(*known: ScramCredential) -> dict[str, tuple[bytes, int]]:
    """What an attacker sees for NAMES."""
    made = of_users(known, b"secret")
    dummies = ((each, made.of(SHA_256, each)) for each in NAMES)
    return {each: (made.salt, made.iterations) for each, made in dummies}


@given(st.text(max_size=20), st.sampled_from([4096, 8192, 16384]), st.integers(0, 200))
def test_it_is_in_the_form_of_what_is_there(user: str, iterations: int, size: int) -> None:
    made = dummy(user, credential(b"\xff" * size, iterations))
    assert (len(made.salt), made.iterations) == (size, iterations)


@pytest.mark.parametrize(
    "salt", [b"0123456789abcdef" * 2, b"DEADBEEF00112233", b"QUJDREVGR0g+/w==", b"not base64!"]
)
def test_a_salt_that_another_tool_wrote_as_text_is_answered_by_one(salt: bytes) -> None:
    made = b"".join(dummy(name, credential(salt)).salt for name in NAMES[:50])
    assert made.isascii()
    assert made.decode().isprintable()
    if b"Q" not in salt and b" " not in salt:
        int(made, 16)
        assert len(set(made)) == 16


def test_a_long_salt_is_random_to_its_end() -> None:
    made = dummy("mallory", credential(b"\xff" * 128)).salt
    assert made[:64] != made[64:]


def test_who_cannot_log_in_is_nobodys_model() -> None:
    without_key = credential(bytes(40), 8192)._replace(stored_key=b"")
    known = credential(iterations=4095), without_key, credential(bytes(30), 8192)
    assert {(len(salt), iterations) for salt, iterations in shown(*known).values()} == {(30, 8192)}


def test_a_salt_as_kafkas_tools_make_them_is_answered_by_one() -> None:
    """A number of 130 bits in base 36."""
    numbers = [int(salt, 36) for salt, _ in shown(credential()).values()]
    assert len(set(numbers)) == 500
    assert max(numbers) < 1 << 130
    assert max(numbers) > 1 << 129


@pytest.mark.parametrize("salt", [KAFKAS_SALT, b"\x00" * 64])
def test_every_node_shows_the_same_after_every_start(salt: bytes) -> None:
    known = [credential(salt) for _ in range(100)]
    assert dummy("mallory", *known) == dummy("mallory", *reversed(known))
    assert dummy("mallory", *known) != dummy("mallet", *known)


def test_a_change_of_one_user_changes_few_names_and_those_altogether() -> None:
    """Those with it as their model; all other salts stay, as those of users do."""
    known = [credential() for _ in range(4)]
    before, after = shown(*known), shown(*known[1:])
    gone = {name for name in NAMES if before[name] != after[name]}
    assert 0 < len(gone) < len(NAMES) // 2
    anew = shown(credential(), *known[1:])
    assert all(anew[name] != before[name] for name in gone)
    assert {name for name in NAMES if anew[name] != after[name]} != gone


@pytest.mark.parametrize("seed", range(5))
def test_an_attacker_who_searches_between_names_finds_none(seed: int) -> None:
    """One user has unusual iterations. If the model were the next user by name, a whole interval of
    names would show them, and a binary search would find the user at its end. Here the dummy of one
    name says nothing about the next name."""
    chance = Random(seed)
    users = sorted({f"{chance.randrange(10**6):06}" for _ in range(20)})
    known = {
        user: credential(iterations=8192 if number % 2 else 4096)
        for number, user in enumerate(users)
    }
    dummies = DummyCredentials({SHA_256: known}, os.urandom(32))
    asked = [f"{each:06}" for each in range(0, 10**6, 997)]
    seen = [dummies.of(SHA_256, each).iterations for each in asked]
    changes = sum(one != other for one, other in pairwise(seen))
    assert changes > len(asked) // 4
    beside = [
        dummies.of(SHA_256, user + letter).iterations for user in users for letter in "\0!az~"
    ]
    assert {4096, 8192} == set(beside)


def test_names_show_each_form_as_often_as_users_have_it() -> None:
    """So a shown form makes it no more likely that the name exists."""
    known = [credential(iterations=4096) for _ in range(900)]
    known += [credential(iterations=8192) for _ in range(300)]
    found = Counter(iterations for _, iterations in shown(*known).values())
    assert 300 < found[4096] < 450
    assert found[4096] + found[8192] == 500


def test_a_form_that_one_user_has_is_shown_for_few_names_and_not_for_none() -> None:
    iterations = [4096] * 30 + [8192]
    known = [credential(KAFKAS_SALT, n, bytes([at]) * 32) for at, n in enumerate(iterations)]
    found = Counter(iterations for _, iterations in shown(*known).values())
    assert 4 < found[8192] < 60


@pytest.mark.parametrize("forms", [1, 3, 500])
def test_the_work_for_a_name_is_bounded_and_the_same_for_each(
    monkeypatch: pytest.MonkeyPatch, forms: int
) -> None:
    """For any number of users, and for any name."""
    dummies = of_users((credential(iterations=4096 + each % forms) for each in range(2000)), b"")
    digest, calls = hmac.digest, 0

    def counted(*arguments: object) -> bytes:
        nonlocal calls
        calls += 1
        return digest(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(hmac, "digest", counted)
    work = set()
    for name in NAMES[:50]:
        calls = 0
        dummies.of(SHA_256, name)
        work.add(calls)
    [most] = work
    assert most <= 2 * MOST_CANDIDATES + 1


def test_what_is_shown_by_two_mechanisms_is_of_one_user() -> None:
    """A pair of forms that no user has would show that the name does not exist."""
    pairs = [(4096, 4096)] * 20 + [(8192, 8192)] * 10 + [(4096, 16384)] * 5
    known = {
        mechanism: {
            f"known-{place}": credential(iterations=pair[which]) for place, pair in enumerate(pairs)
        }
        for which, mechanism in enumerate(ScramMechanism)
    }
    dummies = DummyCredentials(known, b"secret")
    seen = {tuple(dummies.of(each, name).iterations for each in ScramMechanism) for name in NAMES}
    assert seen == set(pairs)


def test_a_mechanism_that_a_user_lacks_looks_like_one_that_others_have() -> None:
    """A user with one mechanism gets a dummy for the other, like a name with this user as its
    model."""
    sha_512 = ScramMechanism.SCRAM_SHA_512
    known = {
        SHA_256: {f"both-{each}": credential(iterations=4096) for each in range(50)},
        sha_512: {f"both-{each}": credential(iterations=8192) for each in range(50)}
        | {f"one-{each}": credential(iterations=8192) for each in range(50)},
    }
    dummies = DummyCredentials(known, b"secret")
    assert {dummies.of(SHA_256, each).iterations for each in (*NAMES, *known[sha_512])} == {4096}


def test_nobodys_key_is_that_of_another() -> None:
    """So no password fits it, not even its model's."""
    model = credential()
    made = dummy("mallory", model)
    assert not {made.stored_key, made.server_key} & {model.stored_key, model.server_key}
    assert len(made.stored_key) == 32


def test_dummies_follow_the_newest_image() -> None:
    """For the changed mechanism; before the load there are no users."""
    sha_512 = ScramMechanism.SCRAM_SHA_512
    users = Table({"zoe": credential(iterations=8192)})
    image = MetadataImage()._replace(scram=ScramImage(Table({sha_512: users})))
    credentials = CredentialsPublisher(b"secret")
    manifest = LogManifest(NOTHING, Leader(1, 1), 1, 1, 1)
    before = {each: credentials.dummy(each, "mallory") for each in ScramMechanism}
    assert not credentials.is_loaded
    credentials.publish(MetadataDelta(MetadataImage()), image, manifest)
    credentials.complete_initial_load()
    assert credentials.is_loaded
    assert credentials.dummy(sha_512, "mallory").iterations == 8192
    assert credentials.dummy(SHA_256, "mallory") == before[SHA_256]
    assert credentials.scram(sha_512, "zoe") == users["zoe"]
    assert credentials.scram(SHA_256, "zoe") is None
