"""The time since an answer holds, compared with a replay that decides after every change."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from authorizer.analysis.explain.since import Cause, Since, since
from authorizer.config import AuthorizerConfig
from authorizer.history.timeline import TimelineChange
from authorizer.trace import Question, trace
from metalog.acl import Operation, ResourceType
from metalog.ids import Uuid
from tests.support.worlds.small_acls import allow, deny
from tests.support.worlds.small_world import acls, configs, questions

ids = st.integers(0, 5).map(lambda number: Uuid(number.to_bytes(16, "big")))
histories = st.lists(st.tuples(ids, st.none() | acls), max_size=12).map(
    lambda pairs: [TimelineChange(10 + i, *pair) for i, pair in enumerate(pairs)]
)
bases = st.dictionaries(ids, acls, max_size=4)


@settings(max_examples=300)
@given(bases, histories, configs, questions)
def test_it_is_the_last_change_of_the_answer(base, changes, config, question):
    state = dict(base)
    allowed = trace(state.values(), config, question).allowed
    began = Since(5, Cause.START, None, 5)
    for offset, uuid, acl, *_ in changes:
        before = state.pop(uuid, None)
        if acl is not None:
            state[uuid] = acl
        now = trace(state.values(), config, question).allowed
        if now is not allowed:
            cause = Cause.REMOVED if acl is None else Cause.ADDED
            began = Since(offset, cause, acl if acl is not None else before, offset + 1)
            allowed = now
    assert since(5, base.items(), changes, config, question) == began


def test_a_grant_and_its_removal():
    grant = allow("payments", principal="User:a")
    question = Question("User:a", Operation.READ, ResourceType.TOPIC, "payments")
    config = AuthorizerConfig(frozenset(), False)
    uuid = Uuid(bytes(16))
    added, removed = TimelineChange(7, uuid, grant), TimelineChange(9, uuid, None)
    assert since(0, [], [added], config, question) == Since(7, Cause.ADDED, grant, 8)
    assert since(0, [], [added, removed], config, question) == Since(9, Cause.REMOVED, grant, 10)
    assert since(0, [], [], config, question) == Since(0, Cause.START, None, 0)


def test_what_a_transaction_turns_and_turns_back_is_no_turn():
    """A DENY is removed and added again under another id in one transaction: no image lacked it."""
    denying, allowing = (each("payments", principal="User:a") for each in (deny, allow))
    first, second, other = (Uuid(bytes(15) + bytes([number])) for number in range(3))
    question = Question("User:a", Operation.READ, ResourceType.TOPIC, "payments")
    config = AuthorizerConfig(frozenset(), False)
    base = [(first, denying), (other, allowing)]
    apart = [TimelineChange(7, first, None), TimelineChange(8, second, denying)]
    assert since(0, base, apart, config, question) == Since(8, Cause.ADDED, denying, 9)
    together = [each._replace(ended_by=9) for each in apart]
    assert since(0, base, together, config, question) == Since(0, Cause.START, None, 0)
