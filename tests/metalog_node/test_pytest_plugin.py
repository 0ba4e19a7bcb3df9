"""The pytest plugin in another project, with only pytest and this package."""

from __future__ import annotations

import tomllib

import pytest

from tests.support.command.runs import run_python
from tests.support.kafka.cases import REPOSITORY

pytest_plugins = ["pytester"]

USES = """
import pytest
from confluent_kafka.admin import (
    AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType
)
from authorizer import Operation, topic
from metalog import InvalidRequest

READ = AclBinding(
    ResourceType.TOPIC, "orders", ResourcePatternType.LITERAL, "User:app", "*",
    AclOperation.READ, AclPermissionType.ALLOW,
)

@pytest.mark.parametrize("time", range(2))
def test_each_has_a_node_of_its_own(metalog_node, time):
    assert not metalog_node.is_allowed("User:app", Operation.READ, topic("orders"))
    [created] = metalog_node.admin.create_acls([READ]).values()
    created.result(60)
    assert metalog_node.is_allowed("User:app", Operation.READ, topic("orders"))
    assert not metalog_node.is_allowed("User:app", Operation.READ, topic("payments"))
    with pytest.raises(InvalidRequest, match="write it as User:app"):
        metalog_node.is_allowed("app", Operation.READ, topic("payments"))

class TestChanged:
    @pytest.fixture
    def metalog_node_properties(self):
        return {"super.users": "User:admin", "allow.everyone.if.no.acl.found": "true"}

    def test_properties(self, metalog_node):
        assert metalog_node.is_allowed("User:app", Operation.READ, topic("orders"))
        assert metalog_node.bootstrap_servers == metalog_node.bootstrap_servers
        assert metalog_node.bootstrap_servers.startswith("127.0.0.1:")
"""


@pytest.mark.once
def test_a_project_tests_its_acls_on_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(USES)
    done = pytester.runpytest_subprocess("-p", "metalog_node.pytest_plugin", "-W", "error")
    done.assert_outcomes(passed=3)


def test_pytest_finds_it_by_itself() -> None:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        plugins = tomllib.load(file)["project"]["entry-points"]["pytest11"]
    assert plugins == {"metalog_node": "metalog_node.pytest_plugin"}


def test_who_does_not_use_it_loads_nothing_for_it() -> None:
    done = run_python(
        "-c",
        "import pytest, sys; before = {*sys.modules}; import metalog_node.pytest_plugin;"
        "print(*sorted({*sys.modules} - before))",
    )
    of_the_front = {"metalog", "metalog.lazy", "metalog_node"}
    assert {*done.stdout.split()} == {*of_the_front, "metalog_node.pytest_plugin"}, done.stderr
