"""Finds the buckets of one resource type's literals, or prefixes, by name and in order of names.

This module must not know which names a pattern matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from authorizer.engine.buckets import Bucket, FewAcls
from authorizer.engine.prefixes import Prefix, SortedNames
from metalog.acl import WILDCARD, Acl
from metalog.image.table import Table

Changed = Mapping[str, bool]
"""By name: True if the name was added, False if the name was removed."""
NOT_CHANGED: Final[Changed] = {}
MOST_CHANGED: Final = 32
"""The maximum number of names that ``changed`` and ``outdated`` have."""


class PatternBuckets:
    """One resource type's buckets of literals, or of prefixes; ``wildcard`` is the bucket of ``*``.

    ``find`` is the fastest way to get a bucket. Changed names are put in order late, because
    most decisions do not need the order of literals. ``outdated`` has the prefixes that changed
    after ``of_prefixes``; "" stands for all prefixes.
    """

    __slots__ = ("_names", "buckets", "find", "outdated", "wildcard")

    def __init__(
        self,
        buckets: Table[str, Bucket],
        names: SortedNames,
        wildcard: Bucket | None,
        changed: Changed = NOT_CHANGED,
        outdated: tuple[str, ...] = (),
    ) -> None:
        """``changed`` has the changes that are not yet made in ``names``."""
        self.buckets = buckets
        self.find = buckets.finder
        self.wildcard = wildcard
        self.outdated = outdated
        self._names = names, changed

    @staticmethod
    def of(buckets: dict[str, Bucket]) -> PatternBuckets:
        """``buckets`` must be in order of names, and the caller must not change it afterwards."""
        if not buckets:
            return NO_PATTERNS
        names = SortedNames.of(list(buckets))
        return PatternBuckets(Table.owning(buckets), names, buckets.get(WILDCARD))

    @staticmethod
    def of_prefixes(buckets: dict[str, Bucket]) -> PatternBuckets:
        """As ``of``. A ``Prefix`` with only one ACL, and no shorter prefix, stores this ACL."""
        patterns = PatternBuckets.of(buckets)
        for prefix in patterns.names.link():
            if prefix.shorter is None:
                bucket = buckets[prefix.name]
                if type(bucket) is FewAcls and len(bucket) == 1:
                    prefix.value = bucket[0]
        return patterns

    def only_acl(self, prefix: Prefix) -> Acl | None:
        """The only ACL on ``prefix`` and on shorter prefixes; None if there can be another ACL."""
        only: Acl | None = prefix.value
        return None if only is None or prefix.name.startswith(self.outdated) else only

    @property
    def names(self) -> SortedNames:
        names, changed = self._names
        if changed:
            names = names.updated(changed)
            self._names = names, NOT_CHANGED
        return names

    def longest_prefix(self, name: str) -> Prefix | None:
        names, changed = self._names
        return (self.names if changed else names).longest_prefix(name)

    def with_bucket(self, name: str, before: Bucket | None, after: Bucket | None) -> PatternBuckets:
        """A copy in which ``after`` replaces the bucket ``before``; None stands for no bucket."""
        names, changed = self._names
        if before is None or after is None:
            was_changed = name in changed
            changed = {each: added for each, added in changed.items() if each != name}
            if not was_changed:
                changed[name] = before is None
            if len(changed) > MOST_CHANGED:
                names, changed = names.updated(changed), NOT_CHANGED
        wildcard = after if name == WILDCARD else self.wildcard
        outdated = (*self.outdated, name) if len(self.outdated) < MOST_CHANGED else ("",)
        buckets = self.buckets.with_one(name, before, after)
        return PatternBuckets(buckets, names, wildcard, changed, outdated)


NO_PATTERNS: Final = PatternBuckets(Table(), SortedNames.of([]), None)
