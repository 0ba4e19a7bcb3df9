"""An answer from some of the ACLs equals one from all: small random sets."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from authorizer.analysis.explain.unknown_names import unknown_names
from authorizer.config import AuthorizerConfig
from authorizer.trace import Question, trace
from metalog.acl import Acl, Operation, PatternType, ResourcePatternFilter, ResourceType
from metalog_sources.formats.document import AclEntry, Document
from metalog_sources.source import Source
from metalog_sources.store import StoreState, image_of
from shell.tasks.narrow_source import MOST_FILTERS, for_listing, for_questions
from tests.support.worlds.small_acls import BOB, allow
from tests.support.worlds.small_world import acls, configs, questions


class SmallStore:
    """A narrow store with a filter's meaning (KIP-290), which tests with Kafka confirm."""

    def __init__(self, held: Sequence[Acl]) -> None:
        self._held = held
        self.was_asked_for_all = False

    def state(self) -> StoreState:
        self.was_asked_for_all = True
        return stated(self._held)

    def state_about(
        self, patterns: Sequence[ResourcePatternFilter], principals: Sequence[str] = ()
    ) -> StoreState:
        return stated(
            [
                acl
                for acl in self._held
                if acl.principal in principals or any(each.matches(acl) for each in patterns)
            ]
        )


def stated(held: Sequence[Acl]) -> StoreState:
    return StoreState(Document(tuple(map(AclEntry, dict.fromkeys(held)))))


def source_of(store: SmallStore) -> Source:
    return Source("cluster://a:1", "cluster", store, "cluster://a:1", None, None)


def state_of(source: Source) -> StoreState:
    assert source.store is not None
    return source.store.state()


@given(st.lists(acls, max_size=12), st.lists(questions, min_size=1, max_size=4), configs, st.data())
def test_some_questions(
    held: list[Acl], asked: list[Question], config: AuthorizerConfig, data: st.DataObject
) -> None:
    source = source_of(SmallStore(held))
    check_names_of = data.draw(st.lists(st.sampled_from(asked)))
    narrow = for_questions(source, asked, config.super_users, check_names_of)
    some, whole = state_of(narrow).document, stated(held).document
    for question in asked:
        assert trace(some.acls, config, question) == trace(held, config, question)
    for question in check_names_of:
        assert unknown_names(question, image_of(some), config.super_users) == (
            unknown_names(question, image_of(whole), config.super_users)
        )


def test_beyond_some_questions_all_acls_are_asked_for() -> None:
    """Each filter is a request, for which a broker checks every ACL; a listing is one."""
    known = Question(BOB, Operation.READ, ResourceType.TOPIC, "payments")
    others = [known._replace(resource_name=f"t-{number}") for number in range(MOST_FILTERS)]
    for asked, needs_all in ((others, False), ([known] * 99, False), ([known, *others], True)):
        store = SmallStore([allow("payments")])
        state_of(for_questions(source_of(store), asked, ()))
        assert store.was_asked_for_all is needs_all


def test_a_question_about_known_names_needs_few_acls() -> None:
    """An unknown name needs all ACLs, to find the probable one."""
    known = Question(BOB, Operation.READ, ResourceType.TOPIC, "payments")
    for question, needs_all in ((known, False), (known._replace(principal="User:bop"), True)):
        store = SmallStore([allow("payments"), allow("elsewhere")])
        state_of(for_questions(source_of(store), [question], (), [question]))
        assert store.was_asked_for_all is needs_all


def test_a_listing_that_would_be_empty_needs_all() -> None:
    topic = ResourcePatternFilter(ResourceType.TOPIC, "payments", PatternType.LITERAL)
    for is_enough in (True, False):
        store = SmallStore([allow("payments"), allow("elsewhere")])
        found = state_of(for_listing(source_of(store), [topic], lambda _, e=is_enough: e))
        assert store.was_asked_for_all is not is_enough
        assert len(found.document.acls) == (1 if is_enough else 2)
