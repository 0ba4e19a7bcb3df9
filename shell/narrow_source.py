"""A SOURCE that can be asked for some resources alone, asked for what one answer needs.

What is answered is what would be answered from all ACLs: where more of them would be shown, such as
the name that a mistyped one is nearest to, all are asked for. This module must not know how an
answer is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from metalog.acl import PatternType, ResourcePatternFilter
from shell.known import unknown_names
from snapshot.exchange.store import NarrowStore, State, image_of

if TYPE_CHECKING:
    from authorizer.trace import Question
    from metalog.acl import Acl
    from snapshot.exchange.source import Source


def for_question(source: Source, question: Question, super_users: Collection[str]) -> Source:
    """``source``, that holds what decides ``question`` and tells whether its names are known."""

    def is_enough(state: State) -> bool:
        return not unknown_names(question, image_of(state.document), super_users)

    resource = ResourcePatternFilter(
        question.resource_type, question.resource_name, PatternType.MATCH
    )
    return _narrowed(source, [resource], question.principal, is_enough)


def for_listing(
    source: Source,
    patterns: Sequence[ResourcePatternFilter],
    is_enough: Callable[[Collection[Acl]], bool] = lambda acls: True,
) -> Source:
    """``source``, that holds the ACLs which ``patterns`` match, or all where those are not
    ``is_enough``."""
    return _narrowed(source, patterns, None, lambda state: is_enough(state.document.acls))


def _narrowed(
    source: Source,
    patterns: Sequence[ResourcePatternFilter],
    principal: str | None,
    is_enough: Callable[[State], bool],
) -> Source:
    store = source.store
    if not isinstance(store, NarrowStore) or not all(pattern.name for pattern in patterns):
        return source
    return source._replace(opened=_Narrowed(store, patterns, principal, is_enough))


class _Narrowed:
    """A store that asks another for as much as is needed, when it is asked itself."""

    def __init__(
        self,
        store: NarrowStore,
        patterns: Sequence[ResourcePatternFilter],
        principal: str | None,
        is_enough: Callable[[State], bool],
    ) -> None:
        self._store = store
        self._patterns = patterns
        self._principal = principal
        self._is_enough = is_enough

    def state(self) -> State:
        some = self._store.state_about(self._patterns, self._principal)
        return some if self._is_enough(some) else self._store.state()
