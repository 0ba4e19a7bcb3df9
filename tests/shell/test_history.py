"""The time since an answer holds: by the log's own history, without uncommitted changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from authorizer.analysis.explain.since import Cause
from authorizer.config import AuthorizerConfig
from authorizer.trace import Question, trace
from metalog.ids import uuid_text
from metalog.image.selection import AUTHORIZATION
from metalog.log.opening import OpenedLog
from metalog.ports import Appended, LogEvent
from metalog_sources.moment import AtOffset
from metalog_sources.replay import Replayed, replay_source
from metalog_sources.source import open_source
from shell.tasks.history import answer_since, change_notes, history_of, time_of
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
    """The answer differs just before the named offset, and not from there on."""
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


class Counted:
    """Records the offsets from which a log was read, and the number of batches."""

    def __init__(self, log: OpenedLog) -> None:
        self._log = log
        self.read_from: list[int] = []
        self.batches = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def read(self, start: int) -> Iterator[LogEvent]:
        self.read_from.append(start)
        for event in self._log.read(start):
            self.batches += isinstance(event, Appended)
            yield event


def test_a_log_is_read_once_for_its_history_and_for_the_age_of_an_answer() -> None:
    case = kafka_case("demo")
    log = Counted(open_source(str(case.log_dir), environ={}).log)
    source = open_source(str(case.log_dir), environ={})._replace(opened=log)
    state = replay_source(source, tolerant=True, notes=change_notes(), selection=AUTHORIZATION)
    unread = replayed(case)
    snapshot = state.snapshot
    assert snapshot is not None
    assert log.read_from == [snapshot.end_offset]
    log.read_from.clear()
    whole = history_of(state)
    assert (whole, log.read_from) == (history_of(unread), [0])
    assert whole is not None
    assert log.batches < 2 * sum(1 for event in log.read(0) if isinstance(event, Appended))
    log.read_from.clear()
    since_snapshot = history_of(state, snapshot.end_offset)
    assert (since_snapshot, log.read_from) == (history_of(unread, snapshot.end_offset), [])
    assert since_snapshot is not None
    assert since_snapshot.start == snapshot.end_offset
    assert since_snapshot.changes == [
        each for each in whole.changes if each.at > snapshot.end_offset
    ]
    before = history_of(state, snapshot.end_offset - 1)
    assert before == whole
    for acl in list(state.image.acls.by_id.values())[:5]:
        asked = Question(
            acl.principal, acl.operation, acl.resource_type, acl.resource_name, "10.0.0.1"
        )
        config = AuthorizerConfig()
        assert answer_since(state, config, asked) == answer_since(unread, config, asked)


def _allowed(state: Replayed, question: Question) -> bool:
    return trace(state.image.acls.by_id.values(), AuthorizerConfig(), question).allowed
