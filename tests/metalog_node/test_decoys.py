"""What a login shows of a name that nobody has (RFC 5802: a salt and a number of iterations)."""

from __future__ import annotations

import base64
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.scram import ScramCredential, ScramMechanism
from metalog_node.decoys import Decoys

SHA_256 = ScramMechanism.SCRAM_SHA_256
KAFKAS_SALT = base64.b64decode("MWR0czdjamY4N3V0MDdlejNoeDM4ZTAzY3E=")
"""One that kafka-configs made."""


def credential(
    salt: bytes, iterations: int = 4096, stored_key: bytes = b"k" * 32
) -> ScramCredential:
    return ScramCredential(salt, stored_key, b"s" * 32, iterations)


def decoy(user: str, known: dict[str, ScramCredential]) -> ScramCredential:
    """By a node that has just been started."""
    return Decoys(SHA_256, known, os.urandom(32)).of(user)


@given(st.text(max_size=20), st.sampled_from([4096, 8192, 16384]), st.integers(12, 200))
def test_it_is_in_the_form_of_what_is_there(user: str, iterations: int, size: int) -> None:
    made = decoy(user, {"alice": credential(os.urandom(size), iterations)})
    assert (len(made.salt), made.iterations) == (size, iterations)


def test_who_cannot_log_in_is_nobodys_model() -> None:
    """scramp takes no shorter salt: a decoy with it would fail earlier than others do."""
    known = {"short": credential(b"salt"), "zoe": credential(bytes(30), 8192)}
    made = decoy("mallory", known)
    assert (len(made.salt), made.iterations) == (30, 8192)


def test_a_salt_as_kafkas_tools_make_them_is_answered_by_one() -> None:
    """A number of 130 bits, to the base 36."""
    known = {"alice": credential(KAFKAS_SALT)}
    numbers = [int(decoy(f"user-{each}", known).salt, 36) for each in range(500)]
    assert len(set(numbers)) == 500
    assert max(numbers) < 1 << 130
    assert max(numbers) > 1 << 129


@pytest.mark.parametrize("salt", [KAFKAS_SALT, b"\x00" * 64])
def test_every_node_shows_the_same_after_every_start(salt: bytes) -> None:
    known = {"alice": credential(salt), "zoe": credential(salt)}
    assert decoy("mallory", known) == decoy("mallory", known)
    assert decoy("mallory", known) != decoy("mallet", known)


def test_it_changes_when_somebodys_password_does_and_with_nobody_elses() -> None:
    """As the salt of a user that exists would."""
    before = {name: credential(KAFKAS_SALT) for name in ("alice", "zoe")}
    after = before | {"zoe": credential(KAFKAS_SALT, stored_key=b"n" * 32)}
    assert decoy("mallory", before).salt != decoy("mallory", after).salt
    assert decoy("aaron", before).salt == decoy("aaron", after).salt


def test_nobodys_key_is_that_of_another() -> None:
    """So that no password fits it, that of its model neither."""
    model = credential(KAFKAS_SALT)
    made = decoy("mallory", {"alice": model})
    assert not {made.stored_key, made.server_key} & {model.stored_key, model.server_key}
    assert len(made.stored_key) == 32
