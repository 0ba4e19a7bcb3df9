from __future__ import annotations

import logging
from pathlib import Path

import pytest

from authorizer.compat.kip11 import ConfigException, Resource, Session, SimpleAclAuthorizer
from metalog.errors import InvalidRequest
from tests.support.worlds.kip11_acls import having

PAYMENTS = Resource("TOPIC", "payments")


def initialized(**keys: str) -> SimpleAclAuthorizer:
    return having([], {key.replace("_", "."): value for key, value in keys.items()})


def are_super_users(authorizer: SimpleAclAuthorizer, *principals: str) -> bool:
    return all(
        authorizer.authorize(Session(principal, "h"), "WRITE", PAYMENTS) for principal in principals
    )


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("user:kafka", ["User:kafka"]),
        ("user:kafka,user:admin", ["User:kafka", "User:admin"]),
        (" User:kafka ; group:ops ;", ["User:kafka", "Group:ops"]),
        ("User:CN=a, O=b;User:CN=c,O=d", ["User:CN=a, O=b", "User:CN=c,O=d"]),
    ],
)
def test_super_users(text: str, users: list[str]) -> None:
    authorizer = initialized(kafka_superusers=text)
    assert are_super_users(authorizer, *users)
    assert not are_super_users(authorizer, "User:CN=a")
    assert not are_super_users(authorizer, "User:other")


def test_todays_key_for_super_users_is_read_too() -> None:
    assert are_super_users(initialized(super_users="User:kafka"), "user:kafka")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"kafka.superusers": "kafka"}, "kafka.superusers: .* write it as User:kafka"),
        ({"kafka.superusers": "user:a,b"}, "separate users by semicolons"),
        ({"kafka.superusers": "user:a", "super.users": "User:b"}, "remove one of the two"),
        ({"kafka.superusers": ["user:a"]}, "kafka.superusers: write one text"),
        ({"zookeeper.url": "zk:2181"}, r"in the metadata log, not in ZooKeeper \(KIP-801\)"),
        ({"zookeeper.url": ""}, "zookeeper.url: "),
        ({"zookeeper.connect": "zk:2181"}, "zookeeper.connect: .*KIP-801"),
        ({"allow.everyone": "yes"}, "allow.everyone=yes: write true or false"),
        ({"allow.everyone.if.no.acl.found": "true"}, "has no such setting"),
        ({"authorizer.config.path": "/no/such/file"}, "authorizer.config.path=/no/such/file: No"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_key(config: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said) as refused:
        SimpleAclAuthorizer().initialize(config)
    assert isinstance(refused.value, ConfigException) or "zookeeper.connect" in config


def test_a_file_of_its_own(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """KIP-11: the key ``authorizer.config.path`` names the file, which has ``allow.everyone``."""
    file = tmp_path / "authorizer.properties"
    file.write_text("allow.everyone=true\nsuper.users=User:eve\nallow.everyon=x\n")
    with caplog.at_level(logging.WARNING):
        authorizer = initialized(authorizer_config_path=str(file))
    assert authorizer.authorize(Session("user:any", "h"), "READ", PAYMENTS)
    assert [record.getMessage() for record in caplog.records] == [
        f"{file}: unknown key {key}; this file can set allow.everyone"
        for key in ("super.users", "allow.everyon")
    ]
    both = {"authorizer.config.path": str(file), "allow.everyone": "false"}
    with pytest.raises(ConfigException, match=r"allow\.everyone is set in the configuration and "):
        SimpleAclAuthorizer().initialize(both)
    file.write_text("zookeeper.url=zk:2181\n")
    with pytest.raises(ConfigException, match="KIP-801"):
        initialized(authorizer_config_path=str(file))
    file.write_text("allow.everyone=\\u12\n")
    with pytest.raises(ConfigException, match="line 1"):
        initialized(authorizer_config_path=str(file))


def test_a_super_user_in_that_file_is_none(tmp_path: Path) -> None:
    file = tmp_path / "authorizer.properties"
    file.write_text("kafka.superusers=user:eve\n")
    authorizer = initialized(authorizer_config_path=str(file))
    assert not are_super_users(authorizer, "User:eve")
