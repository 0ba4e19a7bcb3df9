"""Asks a store only for the ACLs that an answer needs.

The answer is the same as from all ACLs. This module must not know how an answer is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from authorizer.analysis.explain.unknown_names import unknown_names
from metalog.acl import PatternType, ResourcePatternFilter
from metalog_sources.store import NarrowStore, StoreState, image_of

if TYPE_CHECKING:
    from authorizer.trace import Question
    from metalog.acl import Acl
    from metalog_sources.source import Source


MOST_FILTERS: Final = 16
"""Each filter is a request, for which a broker compares every ACL. If more filters are needed, one
request for all ACLs is cheaper."""


def for_questions(
    source: Source,
    questions: Iterable[Question],
    super_users: Collection[str],
    check_names_of: Collection[Question] = (),
) -> Source:
    """At least the ACLs of ``source`` that decide ``questions``. All ACLs if there are many
    questions, or if a name in ``check_names_of`` is unknown, to propose a similar name."""
    resources: dict[ResourcePatternFilter, None] = {}
    principals = dict.fromkeys(question.principal for question in check_names_of)
    for question in questions:
        kind, name = question.resource_type, question.resource_name
        resources[ResourcePatternFilter(kind, name, PatternType.MATCH)] = None
        if len(resources) + len(principals) > MOST_FILTERS:
            return source

    def is_enough(state: StoreState) -> bool:
        image = image_of(state.document)
        return not any(unknown_names(question, image, super_users) for question in check_names_of)

    return _narrowed(source, tuple(resources), tuple(principals), is_enough)


def for_listing(
    source: Source,
    patterns: Sequence[ResourcePatternFilter],
    is_enough: Callable[[Collection[Acl]], bool] = lambda acls: True,
) -> Source:
    """At least the ACLs of ``source`` that ``patterns`` match. All ACLs if ``is_enough`` is false
    for the matched ACLs."""
    return _narrowed(source, patterns, (), lambda state: is_enough(state.document.acls))


def _narrowed(
    source: Source,
    patterns: Sequence[ResourcePatternFilter],
    principals: Sequence[str],
    is_enough: Callable[[StoreState], bool],
) -> Source:
    store = source.store
    if not isinstance(store, NarrowStore) or not all(pattern.name for pattern in patterns):
        return source
    return source._replace(opened=_Narrowed(store, patterns, principals, is_enough))


class _Narrowed:
    def __init__(
        self,
        store: NarrowStore,
        patterns: Sequence[ResourcePatternFilter],
        principals: Sequence[str],
        is_enough: Callable[[StoreState], bool],
    ) -> None:
        self._store = store
        self._patterns = patterns
        self._principals = principals
        self._is_enough = is_enough

    def state(self) -> StoreState:
        some = self._store.state_about(self._patterns, self._principals)
        return some if self._is_enough(some) else self._store.state()
