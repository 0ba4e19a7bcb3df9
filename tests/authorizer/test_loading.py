"""The authorizer that ``authorizer.class.name`` names (KIP-11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from authorizer import Action, Operation, RequestContext, StandardAuthorizer, topic
from authorizer.compat.kip11 import SimpleAclAuthorizer
from authorizer.compat.kip11.adapter import Kip11Adapter
from authorizer.loading import (
    OURS,
    has_no_authorizer,
    kip11_keys,
    load_authorizer,
    why_decisions_differ,
)
from metalog.errors import ConfigException, InvalidRequest
from tests.support.command.runs import run_python

KEY = "authorizer.class.name"
STANDARD, SIMPLE = OURS
ADMIN = RequestContext("User:admin", "h")
WRITE = Action(Operation.WRITE, topic("t"))


@pytest.mark.parametrize("name", [STANDARD, "authorizer.StandardAuthorizer", f" {STANDARD} "])
def test_kafkas_class_names_are_ours(name: str) -> None:
    loaded = load_authorizer({KEY: name, "super.users": "User:admin"}, ["SSL"])
    assert type(loaded) is StandardAuthorizer
    assert loaded.is_allowed(ADMIN, WRITE)


def test_a_super_user_is_known_as_one_whoever_decides() -> None:
    """KIP-506: only a super user may set the passwords of others."""
    standard = load_authorizer({KEY: STANDARD, "super.users": "User:admin"}, [])
    simple = load_authorizer({KEY: SIMPLE, "kafka.superusers": "user:admin"}, [])
    for loaded in (standard, simple):
        assert loaded is not None
        assert loaded.is_super_user("User:admin")
        assert not loaded.is_super_user("User:eve")
        assert not loaded.is_super_user("user:admin")


@pytest.mark.parametrize("name", [SIMPLE, "authorizer.compat.kip11.SimpleAclAuthorizer"])
def test_kip_11s_is_loaded_behind_todays_interface(name: str) -> None:
    loaded = load_authorizer({KEY: name, "kafka.superusers": "user:admin"}, [])
    assert isinstance(loaded, Kip11Adapter)
    assert isinstance(loaded.authorizer, SimpleAclAuthorizer)
    assert loaded.authorize(ADMIN, [WRITE])[0]


@pytest.mark.parametrize("configs", [{}, {KEY: ""}, {KEY: " "}, {KEY: None}])
def test_without_a_class_nothing_is_authorized_unless_a_listener_is_secure(
    configs: dict[str, object],
) -> None:
    """KIP-11: in secure mode the cluster fails with ConfigException."""
    assert load_authorizer(configs, []) is None
    with pytest.raises(
        ConfigException, match="not set, but clients of CLIENT, SSL authenticate or encrypt"
    ):
        load_authorizer(configs, ["SSL", "CLIENT"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kafka.security.authorizer.AclAuthorizer", "keeps its ACLs in ZooKeeper"),
        ("no_such_module.Authorizer", "there is no module no_such_module"),
        ("authorizer.NoSuchAuthorizer", "has no class NoSuchAuthorizer"),
        ("collections.OrderedDict", "neither an authorizer.Authorizer"),
    ],
)
def test_a_class_that_is_none_stops_the_node(name: str, said: str) -> None:
    with pytest.raises(ConfigException, match=f"^{KEY}={name}.*{said}"):
        load_authorizer({KEY: name}, [])


def test_one_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KIP-11: made without arguments, then initialized, then asked."""
    (tmp_path / "our_authorizers.py").write_text(
        "from authorizer.compat.kip11 import Authorizer\n"
        "class Ours(Authorizer):\n"
        "    def initialize(self, config):\n"
        "        self.friend = config['friend']\n"
        "    def authorize(self, session, operation, resource):\n"
        "        return str(session.principal) == self.friend\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    loaded = load_authorizer({KEY: "our_authorizers.Ours", "friend": "User:admin"}, ["SSL"])
    assert loaded is not None
    assert loaded.authorize(ADMIN, [WRITE])[0]
    assert not loaded.authorize(RequestContext("User:eve", "h"), [WRITE])[0]


def test_a_configuration_that_an_authorizer_refuses_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"zookeeper\.connect"):
        load_authorizer({KEY: STANDARD, "zookeeper.connect": "zk:2181"}, [])


def test_importing_authorizer_does_not_load_kip_11s() -> None:
    done = run_python(
        "-c",
        "import sys, authorizer, authorizer.loading\n"
        "from authorizer import StandardAuthorizer\n"
        "from metalog import Replica\n"
        "assert not [name for name in sys.modules if 'kip11' in name]",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("value", [None, "", " "])
def test_a_nodes_whole_configuration_without_a_class_has_no_authorizer(value: object) -> None:
    part = {KEY: value, "super.users": "User:admin"}
    whole = {**part, "node.id": "1"}
    assert has_no_authorizer(whole)
    assert has_no_authorizer({"process.roles": "broker"})
    assert not has_no_authorizer(part)
    assert not has_no_authorizer({**whole, KEY: STANDARD})
    for each in (part, whole, {}):
        assert "Kafka without an authorizer allows everything" in (why_decisions_differ(each) or "")
        assert kip11_keys(each) == ()


@pytest.mark.parametrize("name", [*OURS, *OURS.values(), f" {STANDARD} "])
def test_only_a_standard_authorizer_decides_as_the_standard_authorizer(name: str) -> None:
    is_standard = type(load_authorizer({KEY: name}, ())) is StandardAuthorizer
    assert (why_decisions_differ({KEY: name}) is None) == is_standard
    is_simple = name in (SIMPLE, OURS[SIMPLE])
    assert is_simple != is_standard
    assert ("kafka.superusers" in kip11_keys({KEY: name})) == is_simple


def test_another_class_may_decide_otherwise() -> None:
    assert (why_decisions_differ({KEY: "com.example.Mine"}) or "").startswith(
        f"{KEY}=com.example.Mine "
    )
    assert kip11_keys({KEY: "com.example.Mine"}) == ()


@pytest.mark.parametrize("name", ["OldNeedsMore", "NeedsMore"])
def test_a_class_that_cannot_be_made_is_named_by_its_key(name: str) -> None:
    with pytest.raises(ConfigException, match=rf"^{KEY}"):
        load_authorizer({KEY: f"{__name__}.{name}"}, [])


class NeedsMore(StandardAuthorizer):
    def __init__(self, more: str) -> None:
        super().__init__()


class OldNeedsMore(SimpleAclAuthorizer):
    def __init__(self, more: str) -> None:
        super().__init__()
