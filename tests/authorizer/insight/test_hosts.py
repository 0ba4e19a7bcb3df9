"""Java's text of an address, and the hosts for which an answer is another one."""

from __future__ import annotations

import pytest
from small_world import HOSTS, for_many_worlds

from authorizer.insight.explain import explain
from authorizer.insight.hosts import can_be_a_client, java_text
from authorizer.trace import trace


@pytest.mark.parametrize(
    ("host", "java"),
    [
        ("::1", "0:0:0:0:0:0:0:1"),
        ("0:0:0:0:0:0:0:1", "0:0:0:0:0:0:0:1"),
        ("2001:DB8::00a", "2001:db8:0:0:0:0:0:a"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%2", "fe80:0:0:0:0:0:0:1%2"),
        ("10.0.0.1", "10.0.0.1"),
        ("010.0.0.1", None),
        ("10.0.0.0/8", None),
        ("localhost", None),
        ("", None),
        ("*", None),
    ],
)
def test_the_text_that_java_gives(host, java):
    assert java_text(host) == java


@for_many_worlds
def test_the_named_hosts_are_just_those_that_are_answered_otherwise(acls, config, question):
    question = question._replace(host=None)
    explanation = explain(acls, config, question)
    said = {answer.host: (answer.allowed, answer.acl) for answer in explanation.hosts}
    for host in filter(can_be_a_client, HOSTS):
        answer = trace(acls, config, question._replace(host=host))
        if answer.allowed is not explanation.trace.allowed:
            assert said[host] == (answer.allowed, answer.decision.acl)
        else:
            assert host not in said


@for_many_worlds
def test_a_question_with_a_host_is_about_that_host_alone(acls, config, question):
    assert explain(acls, config, question._replace(host="10.0.0.1")).hosts == ()
