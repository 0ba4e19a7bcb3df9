"""Changing SCRAM credentials (KIP-554) with the answers of Kafka's controller."""

import pytest

from metalog.controller.result import SUCCESS, ApiError
from metalog.controller.scram import (
    AlterScramRequest,
    ScramDeletion,
    ScramUpsertion,
    alter_credentials,
    describe_credentials,
    salted_upsertion,
)
from metalog.errors import ErrorCode, InvalidRequest
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import NOTHING
from metalog.image.metadata import EMPTY
from metalog.image.state.scram import ScramImage
from metalog.records.frame import decode_value, encode_value
from metalog.records.messages import FeatureLevelRecord, UserScramCredentialRecord
from metalog.scram import ScramMechanism, salted_password

SHA_256 = ScramMechanism.SCRAM_SHA_256
SALT = b"salt of a test"


def after(image, *messages):
    delta = MetadataDelta(image)
    delta.replay_all(enumerate(messages))
    return delta.apply(NOTHING)


def at_level(level):
    return after(EMPTY, FeatureLevelRecord(name="metadata.version", feature_level=level))


TODAY = at_level(30)


def upsertion(name, *, mechanism=1, iterations=4096):
    salted = salted_password(SHA_256, "secret", SALT, 4096)
    return ScramUpsertion(name, mechanism, iterations, SALT, salted)


def altered(image, *, deletions=(), upsertions=()):
    return alter_credentials(image, AlterScramRequest(deletions, upsertions))


def with_users(*names):
    records, _ = altered(TODAY, upsertions=[upsertion(name) for name in names])
    return after(TODAY, *(message for message, _ in records))


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (upsertion("u\ud800"), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username is not Unicode text"),
        (
            upsertion("ü" * 16_384),
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "Username has 32,768 bytes in UTF-8, and Kafka takes at most 32,767",
        ),
        (
            upsertion("n" * 1025),
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "Username has 1,025 bytes in UTF-8; at most 1,024 are accepted",
        ),
        (
            upsertion("a\0b"),
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "Username contains NUL, which SCRAM does not allow (RFC 5802)",
        ),
        (
            upsertion("u")._replace(salt=bytes(1025)),
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "The salt has 1,025 bytes; at most 1,024 are accepted",
        ),
        (
            upsertion("u", mechanism=3),
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            "Unknown SCRAM mechanism",
        ),
        (upsertion("u", iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (
            upsertion("u", iterations=16385),
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "Too many iterations",
        ),
    ],
)
def test_a_bad_upsertion_is_refused_alone(change, code, message):
    records, results = altered(TODAY, upsertions=[change, upsertion("good")])
    assert results == {change.name: (code, message), "good": SUCCESS}
    assert [record.name for record, _ in records] == ["good"]


def test_an_empty_salted_password_is_refused_last_and_alone():
    no_key = upsertion("u")._replace(salted_password=b"")
    records, results = altered(TODAY, upsertions=[no_key, upsertion("v")])
    assert results == {"u": ApiError(ErrorCode.UNKNOWN_SERVER_ERROR), "v": SUCCESS}
    assert [message.name for message, _ in records] == ["v"]
    _, results = altered(TODAY, upsertions=[no_key, upsertion("u")])
    assert results["u"].code is ErrorCode.DUPLICATE_RESOURCE


def test_a_user_who_cannot_log_in_is_read_listed_and_deleted():
    """Kafka takes names of up to 32,767 bytes, and its logs may hold one."""
    name = "a" + "ü" * 16_383
    held = UserScramCredentialRecord(name, 1, SALT, b"stored", b"server", 4096)
    version, read = decode_value(encode_value(held, 0))
    image = after(TODAY, read)
    assert (version, list(describe_credentials(image.scram, None))) == (0, [name])
    records, results = altered(image, deletions=[ScramDeletion(name, 1)])
    assert results == {name: SUCCESS}
    assert not after(image, records[0][0]).scram.mechanisms


def test_deleting_what_is_not_there():
    _, results = altered(with_users("alice"), deletions=[ScramDeletion("alice", 2)])
    assert results["alice"] == (
        ErrorCode.RESOURCE_NOT_FOUND,
        "Attempt to delete a user credential that does not exist",
    )


def test_the_largest_that_are_taken_are_taken():
    change = upsertion("n" * 1024, iterations=16384)._replace(salt=bytes(1024))
    assert altered(TODAY, upsertions=[change]).response == {change.name: SUCCESS}


@pytest.mark.parametrize("times", [2, 3, 4])
def test_a_user_named_twice_or_more_is_not_changed(times):
    """Nor told that it was; a user who is refused first keeps the first reason."""
    records, results = altered(TODAY, upsertions=[upsertion("alice")] * times)
    assert (list(records), results["alice"].code) == ([], ErrorCode.DUPLICATE_RESOURCE)
    refused = [upsertion("bob", iterations=1)] + [upsertion("bob")] * (times - 1)
    records, results = altered(TODAY, upsertions=refused)
    assert (list(records), results["bob"].message) == ([], "Too few iterations")


def test_a_user_named_twice_is_not_changed_at_all():
    records, results = altered(
        with_users("alice"),
        deletions=[ScramDeletion("alice", 1)],
        upsertions=[upsertion("alice"), upsertion("bob"), upsertion("alice", mechanism=2)],
    )
    assert results["alice"].code is ErrorCode.DUPLICATE_RESOURCE
    assert [record.name for record, _ in records] == ["bob"]


def test_a_metadata_version_before_scram_refuses_every_user():
    records, results = altered(at_level(10), upsertions=[upsertion("a"), upsertion("b")])
    assert not records
    assert {error.code for error in results.values()} == {ErrorCode.UNSUPPORTED_VERSION}
    assert len(altered(at_level(11), upsertions=[upsertion("a")]).records) == 1


def test_describing():
    image = with_users("bob", "alice").scram
    everyone = describe_credentials(image, None)
    assert list(everyone) == ["alice", "bob"]
    assert everyone["alice"].iterations == {SHA_256: 4096}
    named = describe_credentials(image, ["bob", "nobody", "alice", "alice"])
    assert [(user, found.error.code) for user, found in named.items()] == [
        ("bob", ErrorCode.NONE),
        ("nobody", ErrorCode.RESOURCE_NOT_FOUND),
        ("alice", ErrorCode.DUPLICATE_RESOURCE),
    ]
    assert [found.error.message for found in named.values()] == [
        None,
        "Attempt to describe a user credential that does not exist: nobody",
        "Cannot describe SCRAM credentials for the same user twice in a single request: alice",
    ]


@pytest.mark.parametrize("users", [None, []])
def test_without_names_all_users_are_described(users):
    found = describe_credentials(with_users("bob", "alice").scram, users)
    assert list(found) == ["alice", "bob"]


def test_no_change_has_no_results():
    records, results = altered(with_users("alice"))
    assert not records
    assert not results


@pytest.mark.parametrize(
    ("deletions", "upsertions", "message"),
    [
        (["alice", "alice"], [], "A user credential cannot be altered twice in the same request"),
        ([], ["alice", "alice"], "A user credential cannot be altered twice in the same request"),
        (["alice"], ["alice"], "A user credential cannot be altered twice in the same request"),
        (["", ""], [""], "Username must not be empty"),
    ],
)
def test_a_user_has_one_result_however_often_it_is_named(deletions, upsertions, message):
    records, results = altered(
        with_users("alice"),
        deletions=[ScramDeletion(user, 1) for user in deletions],
        upsertions=list(map(upsertion, upsertions)),
    )
    assert not records
    assert [error.message for error in results.values()] == [message]


@pytest.mark.parametrize("unknown", [0, 10])
def test_one_unknown_mechanism_refuses_all_changes_of_its_user(unknown):
    """Even where the user is named twice, too."""
    records, results = altered(
        with_users("alice"),
        deletions=[ScramDeletion("alice", unknown), ScramDeletion("alice", 1)],
        upsertions=[upsertion("bob", mechanism=unknown), upsertion("bob")],
    )
    assert not records
    refusal = ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"
    assert results == {"alice": refusal, "bob": refusal}


def test_no_secret_in_a_repr():
    shown = repr(upsertion("alice"))
    assert "alice" in shown
    assert "salt of a test" not in shown
    assert repr(upsertion("alice").salted_password)[2:-1] not in shown


def test_the_names_that_are_described_are_walked_once():
    """Twenty thousand names took four seconds: each was searched for among all."""

    class Walked(tuple):
        walks = 0

        def __iter__(self):
            Walked.walks += 1
            return super().__iter__()

        def count(self, value):
            raise AssertionError("each name would be looked for among all")

    names = Walked(map(str, [*range(1000), 7]))
    found = describe_credentials(ScramImage(), names)
    assert (len(found), Walked.walks) == (1000, 1)
    assert found["7"].error.code == ErrorCode.DUPLICATE_RESOURCE


@pytest.mark.parametrize("iterations", [-1, 0, 4095, 1 << 40])
def test_iterations_that_are_refused_are_not_computed(iterations: int) -> None:
    change = salted_upsertion("alice", ScramMechanism.SCRAM_SHA_256, "pw", b"salt", iterations)
    assert change.salted_password == b""
    done = altered(TODAY, upsertions=[change])
    assert done.response["alice"].code is ErrorCode.UNACCEPTABLE_CREDENTIAL


def test_the_error_about_a_password_that_is_no_text_does_not_hold_it() -> None:
    with pytest.raises(InvalidRequest, match=r"^the password is not Unicode text$") as caught:
        salted_upsertion("alice", ScramMechanism.SCRAM_SHA_256, "top\udcff", b"salt", 4096)
    assert caught.value.__context__ is None
