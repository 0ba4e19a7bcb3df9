"""Lists all ACLs in parts. After a change, only the parts with changed ACLs are made again.

A part has the buckets of up to 256 successive names of one resource type and kind of pattern. The
result of ``make`` for a part is cached until one of these buckets changes.

Only one thread at a time may use a ``ListedParts``. This module must not know what ``make`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Generic, TypeVar

from authorizer.engine.buckets import Bucket
from authorizer.engine.index import AclIndex
from authorizer.engine.patterns import NO_PATTERNS, PatternBuckets
from metalog.acl import ResourceType

Made = TypeVar("Made")


class ListedParts(Generic[Made]):
    """Caches the result of ``make`` for each part."""

    def __init__(
        self, make: Callable[[list[Bucket]], Made], resource_types: Sequence[ResourceType]
    ) -> None:
        self._resource_types = resource_types
        self._literals = [_Kind(make) for _ in resource_types]
        self._prefixed = [_Kind(make) for _ in resource_types]

    def of(self, index: AclIndex) -> list[Made]:
        """The results of all parts: by resource type, literals before prefixes, then by name."""
        kinds = zip(self._resource_types, self._literals, self._prefixed, strict=True)
        return list(
            chain.from_iterable(
                chain(literals.of(index.literals[each]), prefixed.of(index.prefixed[each]))
                for each, literals, prefixed in kinds
            )
        )


class _Kind(Generic[Made]):
    """The parts of one resource type's literals, or prefixes.

    ``_made`` has each result by the ``id()`` of a chunk of names, and also keeps the chunk, so that
    no other object gets this ``id()``.
    """

    def __init__(self, make: Callable[[list[Bucket]], Made]) -> None:
        self._make = make
        self._patterns = NO_PATTERNS
        self._made: dict[int, tuple[list[str], Made]] = {}

    def of(self, patterns: PatternBuckets) -> list[Made]:
        buckets, names, before = patterns.buckets, patterns.names, self._made
        if patterns is not self._patterns:
            changed = buckets.changed_since(self._patterns.buckets) if before else ()
            stale = {id(names.chunk_of(name)) for name in changed}
            made = {}
            for chunk in names.chunks:
                known = None if id(chunk) in stale else before.get(id(chunk))
                made[id(chunk)] = known or (chunk, self._make([buckets[name] for name in chunk]))
            self._patterns, self._made = patterns, made
        return [each for _, each in self._made.values()]
