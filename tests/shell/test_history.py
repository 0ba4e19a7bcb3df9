"""Since when an answer is the same: by the log's own history, without uncommitted changes."""

from __future__ import annotations

from authorizer.analysis.explain.since import Cause
from authorizer.config import AuthorizerConfig
from authorizer.trace import Question, trace
from metalog.ids import uuid_text
from metalog_sources.moment import AtOffset
from metalog_sources.replay import Replayed, replay_source
from metalog_sources.source import open_source
from shell.tasks.history import answer_since, history_of, time_of
from tests.support.kafka.cases import KafkaCase, kafka_case


def replayed(case: KafkaCase) -> Replayed:
    return replay_source(open_source(str(case.log_dir), environ={}), tolerant=True)


def test_the_changes_lead_to_the_acls(kafka_case: KafkaCase) -> None:
    if kafka_case.is_invalid:
        return
    state = replayed(kafka_case)
    if state.bounds.start > 0:
        return
    found = history_of(state)
    assert found is not None
    acls = {}
    for _, uuid, acl, *_ in found.of_acls:
        if acl is None:
            acls.pop(uuid, None)
        else:
            acls[uuid] = acl
    assert acls == dict(state.image.acls.by_id.items())


def test_each_change_of_an_answer_is_found_at_its_record() -> None:
    """The answer differs just before the offset that is named, and not from there on."""
    state = replayed(kafka_case("basic-4.3"))
    config = AuthorizerConfig()
    for uuid, acl in list(state.image.acls.by_id.items())[:20]:
        name = acl.resource_name
        question = Question(acl.principal, acl.operation, acl.resource_type, name, "10.0.0.1")
        began = answer_since(state, config, question)
        assert began is not None, uuid_text(uuid)
        if began.cause is Cause.START:
            continue
        before = replay_source(state.source, at=AtOffset(began.offset), tolerant=True)
        after = replay_source(state.source, at=AtOffset(began.offset + 1), tolerant=True)
        assert time_of(state, began.offset) is not None
        assert _allowed(before, question) is not _allowed(after, question)
        assert _allowed(after, question) is _allowed(state, question)


def _allowed(state: Replayed, question: Question) -> bool:
    return trace(state.image.acls.by_id.values(), AuthorizerConfig(), question).allowed
