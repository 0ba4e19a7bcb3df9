"""The hosts for which an answer is another one."""

from __future__ import annotations

from small_world import HOSTS, for_many_worlds

from authorizer.analysis.explain import explain
from authorizer.analysis.hosts import can_be_a_client
from authorizer.trace import trace


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
