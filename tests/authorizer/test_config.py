from __future__ import annotations

import pytest

from authorizer import StandardAuthorizer
from authorizer.config import AuthorizerConfig, from_properties
from authorizer.kafka_version import KafkaVersion
from metalog.errors import InvalidRequest


def test_nothing_configured() -> None:
    assert from_properties({}) == (AuthorizerConfig(), [])
    assert from_properties({"super.users": " "}) == (AuthorizerConfig(), [])


def test_super_users_are_separated_by_semicolons() -> None:
    config, warnings = from_properties({"super.users": " User:a ; User:CN=b, OU=c;;Group:d:e"})
    assert config.super_users == {"User:a", "User:CN=b, OU=c", "Group:d:e"}
    assert not warnings


@pytest.mark.parametrize("text", ["User:a,User:b", "User:a, User:b", "User:a,b"])
def test_a_comma_is_pointed_out(text: str) -> None:
    config, [warning] = from_properties({"super.users": text})
    assert config.super_users == {text}
    assert "semicolons" in warning


def test_a_super_user_without_a_type_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="User:admin"):
        from_properties({"super.users": "User:a;admin"})


@pytest.mark.parametrize("key", ["super.users", "allow.everyone.if.no.acl.found"])
def test_what_a_provider_has_is_not_guessed(key: str) -> None:
    """KIP-297: Kafka asks the provider; without one it takes the text unchanged."""
    asked = {key: "${env:ADMIN}", "config.providers": "env"}
    with pytest.raises(
        InvalidRequest, match=rf"^{key}=\$\{{env:ADMIN}}: .*; write the value itself$"
    ):
        from_properties(asked)
    from_properties({**asked, "config.providers": ""})
    from_properties({**asked, key: "User:$a"})


@pytest.mark.parametrize(
    ("value", "expected", "warned"),
    [
        ("true", True, 0),
        (" TRUE ", True, 0),
        (True, True, 0),
        ("false", False, 0),
        ("yes", False, 1),
    ],
)
def test_allow_everyone(value: object, expected: bool, warned: int) -> None:
    config, warnings = from_properties({"allow.everyone.if.no.acl.found": value})
    assert config.allow_everyone is expected
    assert len(warnings) == warned
    assert all("=yes is taken as false; write true or false" in each for each in warnings)


def test_early_start_listeners_are_the_controllers_unless_named() -> None:
    controllers = {"controller.listener.names": "CONTROLLER, C2"}
    assert from_properties(controllers)[0].early_start_listeners == {"CONTROLLER", "C2"}
    named = {**controllers, "early.start.listeners": "REPLICATION"}
    assert from_properties(named)[0].early_start_listeners == {"REPLICATION"}
    unset = {**controllers, "early.start.listeners": None}
    assert from_properties(unset)[0].early_start_listeners == {"CONTROLLER", "C2"}
    assert from_properties({"controller.listener.names": None})[0].early_start_listeners == set()


def test_super_users_are_one_text_as_in_kafka() -> None:
    with pytest.raises(InvalidRequest, match="separated by semicolons"):
        from_properties({"super.users": ["User:admin"]})


def test_stale_deny_after() -> None:
    assert from_properties({"stale.deny.after.ms": "1500"})[0].stale_deny_after_ms == 1500
    assert from_properties({"stale.deny.after.ms": "9" * 18})[0].stale_deny_after_ms == 10**18 - 1
    for text in ("soon", "-1", "9" * 19, "9" * 5_000):
        with pytest.raises(
            InvalidRequest, match=r"^stale.deny.after.ms=.*: give milliseconds, at most 18 digits$"
        ):
            from_properties({"stale.deny.after.ms": text})


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("super.user", "super.users"),
        ("Super.Users", "super.users"),
        ("superuser", "super.users"),
        ("allow.everyone.if.no.acls.found", "allow.everyone.if.no.acl.found"),
        ("controller.listeners.names", "controller.listener.names"),
    ],
)
def test_a_slip_in_a_key_is_pointed_out(key: str, meant: str) -> None:
    _, [warning] = from_properties({key: "User:a"})
    assert warning == f"{key} is not a known key; did you mean {meant}?"


def test_kafkas_other_keys_are_left_alone() -> None:
    three_letters_longer = "allow.everyone.if.no.acl.founders"
    others = ("inter.broker.listener.name", "listeners", "node.id", "authorizer.class.name")
    others += (three_letters_longer,)
    assert from_properties(dict.fromkeys(others, "x")) == (AuthorizerConfig(), [])


def test_zookeeper_mode_is_refused() -> None:
    """KIP-801, "ZooKeeper-Based Clusters": a fatal exception with the reason."""
    with pytest.raises(InvalidRequest, match=r"^zookeeper\.connect.*KRaft node$"):
        from_properties({"zookeeper.connect": "zk:2181", "super.users": "User:admin"})


def test_which_kafka_decides() -> None:
    for version in KafkaVersion:
        config, warnings = from_properties({"kafka.version": f" {version.value} "})
        assert (config.kafka_version, config.kafka, warnings) == (version, version, [])
    assert from_properties({"kafka.version": ""})[0].kafka_version is None
    with pytest.raises(InvalidRequest, match=r"^kafka.version=3.9: supported .* 4.3 or 4.4"):
        from_properties({"kafka.version": "3.9"})


@pytest.mark.parametrize(
    ("level", "kafka"),
    [
        (None, KafkaVersion.V4_3),
        (30, KafkaVersion.V4_3),
        (31, KafkaVersion.V4_3),
        (32, KafkaVersion.V4_4),
        (33, KafkaVersion.V4_4),
    ],
)
def test_where_nothing_says_which_kafka_decides_the_log_does(
    level: int | None, kafka: KafkaVersion
) -> None:
    assert AuthorizerConfig().for_log(level).kafka is kafka
    for given in KafkaVersion:
        assert AuthorizerConfig(kafka_version=given).for_log(level).kafka is given


def test_blanks_are_javas() -> None:
    """Java's trim takes what is up to U+0020, and no other space."""
    users = from_properties({"super.users": "\0User:a\x1f;User:b\u2003"})[0].super_users
    assert users == {"User:a", "User:b\u2003"}
    assert not from_properties({"allow.everyone.if.no.acl.found": "true\xa0"})[0].allow_everyone


def test_a_warning_of_the_configuration_is_logged_as_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    StandardAuthorizer.configured({"super.user": "User:100%s"})
    assert caplog.messages == ["super.user is not a known key; did you mean super.users?"]
