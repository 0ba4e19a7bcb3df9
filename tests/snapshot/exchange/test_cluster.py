"""``cluster://`` before anything is sent: the url, the client's settings, and what is refused.

What a cluster answers is in ``tests/compat/test_cluster.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidSource
from snapshot.exchange.cluster import ClusterStore
from snapshot.exchange.source import open_source

SETTINGS = (
    "bootstrap.servers=elsewhere:1\n"
    "security.protocol=SASL_SSL\n"
    "sasl.mechanism=SCRAM-SHA-512\n"
    "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
    '  username="app" password="top-secret";\n'
)


def opened(url: str, folder: Path, settings: str | None = None) -> ClusterStore:
    file = None
    if settings is not None:
        file = folder / "client.properties"
        file.write_text(settings)
    store = open_source(url, environ={}, cwd=folder, command_config=file).store
    assert isinstance(store, ClusterStore)
    return store


def test_opening_connects_to_nothing(tmp_path: Path) -> None:
    store = opened("cluster://a:9092,b:9092", tmp_path, SETTINGS)
    assert (store.url, store.caller) == ("cluster://a:9092,b:9092", "User:app")
    assert "top-secret" not in repr(store)
    assert opened("cluster://a:9092", tmp_path).caller is None


def test_by_name_with_its_own_settings(tmp_path: Path) -> None:
    (tmp_path / "c.properties").write_text(SETTINGS)
    (tmp_path / "metalog.toml").write_text(
        '[sources.prod]\nurl = "cluster://a:9092"\ncommand-config = "c.properties"\n'
    )
    assert opened("@prod", tmp_path).caller == "User:app"
    assert opened("@prod", tmp_path, SETTINGS.replace("app", "me")).caller == "User:me"


@pytest.mark.parametrize(
    ("url", "settings", "said"),
    [
        ("cluster://", None, "cluster://: give cluster://HOST:PORT"),
        ("cluster://a:1/t", None, "cluster://a:1/t: give cluster://HOST:PORT"),
        ("cluster://a:1", "ssl.x=secret", "client.properties: ssl.x is not known here"),
        ("cluster://a:1", "a=\\u12", "client.properties: line 1: "),
    ],
)
def test_what_is_refused(tmp_path: Path, url: str, settings: str | None, said: str) -> None:
    with pytest.raises(InvalidSource) as raised:
        opened(url, tmp_path, settings)
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)


def test_what_the_library_refuses_is_told_in_one_line(tmp_path: Path) -> None:
    store = opened("cluster://a:1", tmp_path, "security.protocol=nonsense")
    with pytest.raises(InvalidSource, match=r"^cluster://a:1: cannot list ACLs: \S.*nonsense"):
        store.state()


ACL = Acl(
    ResourceType.TOPIC,
    "t",
    PatternType.LITERAL,
    "User:a",
    "*",
    Operation.READ,
    PermissionType.ALLOW,
)


@pytest.mark.parametrize(
    ("acl", "why"),
    [
        (ACL, None),
        (ACL._replace(operation=Operation.IDEMPOTENT_WRITE), None),
        (ACL._replace(operation=Operation.TWO_PHASE_COMMIT), "does not know TWO_PHASE_COMMIT"),
        (ACL._replace(resource_type=ResourceType.USER), "knows no ACLs on USER"),
    ],
)
def test_what_the_library_can_say(tmp_path: Path, acl: Acl, why: str | None) -> None:
    said = opened("cluster://a:1", tmp_path).why_not(acl)
    assert (said is None) if why is None else (said is not None and why in said)
