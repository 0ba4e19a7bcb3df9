from __future__ import annotations

from authorizer.analysis.explain.explain import explain
from authorizer.trace import trace
from tests.support.worlds.small_world import CLIENTS, for_many_worlds, from_there


@for_many_worlds
def test_the_named_hosts_are_just_those_that_are_answered_otherwise(acls, config, question):
    question = question._replace(host=None)
    explanation = explain(acls, config, question)
    said = {answer.host: (answer.allowed, answer.acl) for answer in explanation.hosts}
    for host in CLIENTS:
        answer = trace(acls, config, question._replace(host=host))
        there = from_there(said, host)
        assert answer.allowed is (explanation.trace.allowed if there is None else there[0])
        if host in said:
            assert said[host] == (answer.allowed, answer.decision.acl)


@for_many_worlds
def test_a_question_with_a_host_is_about_that_host_alone(acls, config, question):
    assert explain(acls, config, question._replace(host="10.0.0.1")).hosts == ()
