from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from authorizer import (
    Action,
    AuthorizationResult,
    Authorizer,
    Operation,
    PatternType,
    RequestContext,
    ResourcePattern,
    ResourceType,
    cluster,
    topic,
)
from authorizer.interface import AuthorizationResults
from metalog.errors import InvalidRequest
from metalog.principal import KafkaPrincipal

ACTION = Action(Operation.READ, topic("payments"), log_if_denied=False)
CONTEXT = RequestContext("User:a", "10.0.0.1", "CLIENT", "Fetch", ["Group:b"])


def test_one_additional_principal_is_not_taken_for_a_list_of_letters() -> None:
    with pytest.raises(InvalidRequest, match=r"\['Group:b'\]"):
        RequestContext("User:a", "10.0.0.1", additional_principals="Group:b")


def test_principals_are_equal_by_type_and_name() -> None:
    principal = KafkaPrincipal("User", "a")
    assert principal == KafkaPrincipal("User", "a")
    assert principal not in (KafkaPrincipal("Group", "a"), KafkaPrincipal("User", "b"))


@pytest.mark.parametrize(
    "value", [ACTION, CONTEXT, topic("payments"), KafkaPrincipal("User", "payments")]
)
def test_values_are_compared_by_value_and_pickled(value: object) -> None:
    again = pickle.loads(pickle.dumps(value))
    assert again == value
    assert hash(again) == hash(value)
    assert value != "payments"
    assert not hasattr(value, "__dict__")


def test_values_show_what_they_are() -> None:
    assert repr(topic("a")).startswith("ResourcePattern(resource_type=<ResourceType.TOPIC")
    assert "identity" not in repr(CONTEXT)
    assert Action(Operation.READ, topic("payments")) != ACTION
    assert cluster() == ResourcePattern(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL)


def test_a_context_takes_a_principal_as_an_object_too() -> None:
    assert RequestContext(KafkaPrincipal("User", "a:b"), "h").principal == "User:a:b"


def test_results_have_no_truth_of_their_own() -> None:
    results = AuthorizationResults([AuthorizationResult.DENIED])
    with pytest.raises(TypeError, match="is_allowed"):
        bool(results)
    [result] = results
    assert not result
    assert AuthorizationResult.ALLOWED


def test_an_authorizer_that_does_not_count_says_so() -> None:
    assert Authorizer().acl_count() == -1
    assert not hasattr(Authorizer, "create_acls")


def test_importing_the_package_loads_no_third_party() -> None:
    code = (
        "import sys, authorizer; before = set(sys.modules); authorizer.StandardAuthorizer;"
        "third = {'pydantic', 'rich', 'confluent_kafka', 'kio', 'prompt_toolkit', 'fastavro'};"
        "assert 'sortedcontainers' not in before; assert not third & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
