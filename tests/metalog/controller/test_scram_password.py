"""Passwords in requests (KIP-506): who may send them, each outcome, and the stored credential."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.controller.scram import AlterScramRequest, alter_credentials
from metalog.controller.scram_password import (
    Caller,
    ScramCredentials,
    ScramPasswordPlan,
    ScramPasswordPolicy,
    ScramPasswordRequest,
    ScramPasswordResponse,
    plan_passwords,
)
from metalog.controller.scram_password_config import ScramPasswordConfig
from metalog.errors import ConfigException, ErrorCode
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import NOTHING
from metalog.image.metadata import EMPTY, MetadataImage
from metalog.records.messages import FeatureLevelRecord
from metalog.scram import ScramMechanism, credential_of, salted_password

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
DEFAULTS = ScramPasswordConfig()
ADMIN_OVER_TLS = Caller(is_encrypted=True, is_super_user=True)
PasswordChange = tuple[str, int, str | None]
Answers = dict[tuple[int, str], tuple[int, str | None]]


def salt(size: int) -> bytes:
    return b"s" * size


class LongEnough:
    def accept(self, password: str) -> bool:
        return len(password) >= 8

    def describe(self) -> str:
        return "at least 8 characters"


def planned(
    *given: PasswordChange,
    caller: Caller = ADMIN_OVER_TLS,
    config: ScramPasswordConfig = DEFAULTS,
    policy: ScramPasswordPolicy | None = None,
) -> ScramPasswordPlan:
    request = ScramPasswordRequest([ScramCredentials(*each) for each in given])
    return plan_passwords(request, caller, config, policy, salt)


def after(image: MetadataImage, *messages: object) -> MetadataImage:
    delta = MetadataDelta(image)
    delta.replay_all(enumerate(messages))  # type: ignore[arg-type]
    return delta.apply(NOTHING)


TODAY = after(EMPTY, FeatureLevelRecord(name="metadata.version", feature_level=30))


def carried_out(
    plan: ScramPasswordPlan, image: MetadataImage = TODAY
) -> tuple[MetadataImage, ScramPasswordResponse]:
    outcomes = {}
    for mechanism, request in plan.requests.items():
        records, outcomes[mechanism] = alter_credentials(image, request)
        image = after(image, *(message for message, _ in records))
    return image, plan.response(outcomes)


def answers(response: ScramPasswordResponse) -> Answers:
    """By hash type and user, each once, in the order of the response, which throttles nobody."""
    assert response.throttle_time_ms == 0
    found = [
        ((result.hash_type, user.username), (user.error_code, user.error_message))
        for result in response.hash_results
        for user in result.user_results
    ]
    assert len(dict(found)) == len(found)
    return dict(found)


def codes(plan: ScramPasswordPlan, image: MetadataImage = TODAY) -> Mapping[tuple[int, str], int]:
    return {key: code for key, (code, _) in answers(carried_out(plan, image)[1]).items()}


def test_a_password_is_kept_as_kafka_keeps_it() -> None:
    """4096 iterations by default, and UTF-8 without SASLprep."""
    password = "p\u00e4ss\u00ad\u2168"
    image, response = carried_out(planned(("alice", 1, password), ("alice", 2, password)))
    assert answers(response) == {(1, "alice"): (0, None), (2, "alice"): (0, None)}
    for mechanism in (SHA_256, SHA_512):
        salted = salted_password(mechanism, password, salt(24), 4096)
        expected = credential_of(mechanism, salted, salt(24), 4096)
        assert image.scram.credential(mechanism, "alice") == expected
    prepared = salted_password(SHA_256, "p\u00e4ssIX", salt(24), 4096)
    kept = image.scram.credential(SHA_256, "alice")
    assert kept != credential_of(SHA_256, prepared, salt(24), 4096)


def test_each_mechanism_may_have_a_password_of_its_own() -> None:
    image, _ = carried_out(planned(("alice", 1, "one"), ("alice", 2, "two")))
    for mechanism, password in ((SHA_256, "one"), (SHA_512, "two")):
        salted = salted_password(mechanism, password, salt(24), 4096)
        kept = image.scram.credential(mechanism, "alice")
        assert kept == credential_of(mechanism, salted, salt(24), 4096)


def test_no_password_deletes() -> None:
    image, _ = carried_out(planned(("alice", 1, "secret"), ("alice", 2, "secret")))
    plan = planned(("alice", 1, None), ("bob", 1, None))
    image, response = carried_out(plan, image)
    assert image.scram.credential(SHA_256, "alice") is None
    assert image.scram.credential(SHA_512, "alice") is not None
    assert [code for code, _ in answers(response).values()] == [0, ErrorCode.RESOURCE_NOT_FOUND]


@pytest.mark.parametrize(
    ("caller", "code"),
    [
        (Caller(is_encrypted=False, is_super_user=True), ErrorCode.ENCRYPTION_REQUIRED),
        (Caller(is_encrypted=False, is_super_user=False), ErrorCode.ENCRYPTION_REQUIRED),
        (Caller(is_encrypted=True, is_super_user=False), ErrorCode.USER_AUTHORIZATION_FAILED),
    ],
)
def test_all_users_get_the_same_error_or_none_does(caller: Caller, code: ErrorCode) -> None:
    given: list[PasswordChange] = [("a", 1, "x"), ("b", 9, "y"), ("a", 1, "z"), ("c", 2, None)]
    plan = planned(*given, caller=caller, policy=LongEnough())
    assert not plan.requests
    assert dict.fromkeys([(1, "a"), (9, "b"), (2, "c")], code) == codes(plan)


def test_results_are_grouped_by_hash_type_in_the_order_of_the_request() -> None:
    plan = planned(("b", 2, "x"), ("a", 1, "x"), ("a", 2, "x"), ("b", 3, "x"))
    assert list(codes(plan)) == [(2, "b"), (2, "a"), (1, "a"), (3, "b")]


def test_a_user_and_mechanism_named_twice_is_left_alone() -> None:
    plan = planned(("a", 1, "x"), ("b", 1, "y"), ("a", 1, None), ("a", 2, "z"))
    image, _ = carried_out(plan)
    assert codes(plan) == {(1, "a"): ErrorCode.DUPLICATE_RESOURCE, (1, "b"): 0, (2, "a"): 0}
    assert image.scram.credential(SHA_256, "a") is None
    assert image.scram.credential(SHA_512, "a") is not None


def test_a_mechanism_that_is_not_enabled_is_refused() -> None:
    key = "sasl.scram.password.change.enabled.mechanisms"
    only_512 = ScramPasswordConfig.configured({key: "SHA512"})
    given: list[PasswordChange] = [("a", 1, "x"), ("a", 2, "x"), ("b", 1, None), ("c", 3, "x")]
    response = carried_out(planned(*given, config=only_512))[1]
    refusal = (
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "Passwords cannot be set for hash type 1; enabled types: 2 (SHA512)",
    )
    found = answers(response)
    assert [found[1, "a"], found[1, "b"], found[2, "a"]] == [refusal, refusal, (0, None)]
    assert found[3, "c"][0] == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    none = planned(*given, config=ScramPasswordConfig.configured({key: ""}))
    assert not none.requests
    told = answers(carried_out(none)[1])[1, "a"][1]
    assert told == "Passwords cannot be set for hash type 1; enabled types: none"
    told = answers(carried_out(planned(("c", 3, "x")))[1])[3, "c"][1]
    assert told.endswith("; enabled types: 1 (SHA256), 2 (SHA512)")


def test_a_policy_refuses_with_its_description() -> None:
    plan = planned(("a", 1, "short"), ("b", 1, "long enough"), ("a", 2, None), policy=LongEnough())
    found = answers(carried_out(plan)[1])
    assert found[1, "a"] == (ErrorCode.POLICY_VIOLATION, "at least 8 characters")
    assert found[1, "b"] == (0, None)
    assert found[2, "a"][0] == ErrorCode.RESOURCE_NOT_FOUND


def test_a_policy_that_fails_accepts_nothing_and_tells_nothing() -> None:
    class Broken(LongEnough):
        def accept(self, password: str) -> bool:
            raise ValueError(f"no {password} please")

    class Awaited(LongEnough):
        async def accept(self, password: str) -> bool:  # type: ignore[override]
            return True

    [broken] = answers(carried_out(planned(("a", 1, "top-secret-1"), policy=Broken()))[1]).values()
    assert broken == (ErrorCode.UNKNOWN_SERVER_ERROR, "The password policy failed: ValueError")
    with pytest.warns(RuntimeWarning, match="never awaited"):
        plan = planned(("a", 1, "top-secret-1"), policy=Awaited())
    assert list(codes(plan).values()) == [ErrorCode.POLICY_VIOLATION]


def test_an_empty_password_and_an_empty_name_are_refused() -> None:
    found = codes(planned(("a", 1, ""), ("", 1, "x"), ("b", 1, "x\udcff"), ("\udcff", 1, "x")))
    assert set(found.values()) == {ErrorCode.UNACCEPTABLE_CREDENTIAL}


def test_an_outcome_that_never_came_is_no_success() -> None:
    plan = planned(("a", 1, "x"), ("b", 2, "y"))
    lost = answers(plan.response({SHA_256: {}}))
    assert {code for code, _ in lost.values()} == {ErrorCode.UNKNOWN_SERVER_ERROR}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "a", "b"]),
            st.integers(0, 3),
            st.sampled_from([None, "", "pw", "long enough"]),
        ),
        max_size=6,
    ),
    st.booleans(),
    st.booleans(),
)
def test_each_that_is_named_has_one_result_and_only_what_is_carried_out_changes(
    given: list[PasswordChange], is_encrypted: bool, is_super_user: bool
) -> None:
    plan = planned(*given, caller=Caller(is_encrypted, is_super_user), policy=LongEnough())
    image, response = carried_out(plan)
    found = answers(response)
    assert set(found) == {(hash_type, user) for user, hash_type, _ in given}
    changed = {(m.value, user) for m, users in image.scram.mechanisms.items() for user in users}
    assert changed == {key for key, (code, _) in found.items() if code == 0}
    assert not changed or (is_encrypted and is_super_user)


def test_no_password_is_shown() -> None:
    plan = planned(("alice", 1, "top-secret-1"))
    [upsertion] = plan.requests[SHA_256].upsertions
    shown = repr(
        [ScramPasswordRequest([ScramCredentials("alice", 1, "top-secret-1")]), plan, plan.requests]
    )
    assert "ScramCredentials(username='alice', hash_type=1, password=[hidden])" in shown
    assert repr(ScramCredentials("a", 2, None)).endswith(
        "(username='a', hash_type=2, password=None)"
    )
    assert "top-secret-1" not in shown
    assert repr(upsertion.salted_password)[2:-1] not in shown
    assert "ssss" not in shown
    assert isinstance(plan.requests[SHA_256], AlterScramRequest)


def test_the_defaults_are_kip_506s() -> None:
    assert ScramPasswordConfig.configured({}) == ({SHA_256: 4096, SHA_512: 4096}, None, True)
    assert ScramPasswordConfig.configured({"listeners": "x"}) == DEFAULTS
    most = ScramPasswordConfig.configured({"sasl.scram.password.change.SHA256.iterations": "16384"})
    assert most.iterations[SHA_256] == 16384


def test_the_configuration() -> None:
    config = ScramPasswordConfig.configured(
        {
            "sasl.scram.password.change.enabled.mechanisms": " SHA512 , SHA256 ",
            "sasl.scram.password.change.SHA512.iterations": "8192",
            "sasl.scram.password.policy.class": "ours.Policy",
        }
    )
    assert config == ({SHA_256: 4096, SHA_512: 8192}, "ours.Policy", True)
    assert not ScramPasswordConfig.configured(
        {"sasl.scram.password.salted.enable": "False"}
    ).takes_salted
    plan = planned(("a", 2, "x"), config=config)
    assert plan.requests[SHA_512].upsertions[0].iterations == 8192


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("change.enabled.mechanisms", "SCRAM-SHA-256", "known are SHA256 and SHA512"),
        ("change.SHA256.iterations", "4095", "SHA256.iterations=4095: give a number from 4096"),
        ("change.SHA512.iterations", "16385", "to 16384"),
        ("change.SHA512.iterations", "many", "to 16384"),
        ("change.SHA1.iterations", "4096", "SHA1.iterations is unknown"),
        ("policy.clas", "ours.Policy", "policy.clas is unknown; known are sasl[.a-z]*, sasl"),
        ("change.SHA256.iterations", "many", "many: give a number from 4096 to 16384$"),
        ("salted.enable", "no", "salted.enable=no: give true or false"),
        ("salted.enabled", "false", "salted.enabled is unknown"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(key: str, value: str, said: str) -> None:
    with pytest.raises(ConfigException, match=said):
        ScramPasswordConfig.configured({f"sasl.scram.password.{key}": value})
