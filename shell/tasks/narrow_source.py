"""Asks a store only for the resources that an answer needs.

What is answered is what would be answered from all ACLs: where more of them would be shown, such as
the name that a mistyped one is nearest to, all are asked for. This module must not know how an
answer is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from authorizer.analysis.unknown_names import unknown_names
from metalog.acl import PatternType, ResourcePatternFilter
from metalog_sources.store import NarrowStore, StoreState, image_of

if TYPE_CHECKING:
    from authorizer.trace import Question
    from metalog.acl import Acl
    from metalog_sources.source import Source


MOST_REQUESTS: Final = 16
"""So many filters are asked for before all ACLs are: one listing takes a request, whatever its
size, and a broker looks at each of its ACLs for each filter."""


def for_questions(
    source: Source,
    questions: Iterable[Question],
    super_users: Collection[str],
    pointed_out: Collection[Question] = (),
) -> Source:
    """``source``, that holds what decides ``questions``, and what tells whether the names of those
    ``pointed_out``, which are among them, are known; all of it where that is less work."""
    resources: dict[ResourcePatternFilter, None] = {}
    principals = dict.fromkeys(each.principal for each in pointed_out)
    for each in questions:
        kind, name = each.resource_type, each.resource_name
        resources[ResourcePatternFilter(kind, name, PatternType.MATCH)] = None
        if len(resources) + len(principals) > MOST_REQUESTS:
            return source

    def is_enough(state: StoreState) -> bool:
        image = image_of(state.document)
        return not any(unknown_names(each, image, super_users) for each in pointed_out)

    return _narrowed(source, tuple(resources), tuple(principals), is_enough)


def for_listing(
    source: Source,
    patterns: Sequence[ResourcePatternFilter],
    is_enough: Callable[[Collection[Acl]], bool] = lambda acls: True,
) -> Source:
    """``source``, that holds the ACLs which ``patterns`` match, or all where those are not
    ``is_enough``."""
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
    """A store that asks another for as much as is needed, when it is asked itself."""

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
