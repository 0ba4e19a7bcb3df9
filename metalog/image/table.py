"""An immutable map that shares its unchanged entries with the map from which it was made.

The first entries (the "bulk") are in one plain dict, which is fast to fill and to read. A tree of
64 x 64 small dicts ("leaves") holds the later changes. A look-up reads the tree first. A change
copies one leaf and the lists above the leaf. A change makes a new bulk of all entries if the old
bulk has at most ``SMALL`` entries, or if the leaves would exceed a sixteenth of the bulk.

The high bits of a key's hash choose the leaf, because a dict uses the low bits. The hashes must be
well spread, as for bytes, strings and tuples. Small integers would share one leaf.

The order of iteration is arbitrary. ``repr`` shows no values, because some values are secrets.
This module must not know what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from typing import Any, Final, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

Leaf = dict[Any, Any]
Nodes = list[list[Leaf]]
Parts = tuple[dict[K, V], Nodes | None, int, int]
"""The bulk, the leaves with later changes, the number of their keys, and the table's length."""

SMALL: Final = 2048
FAN: Final = 64
_ENTRIES_PER_CHANGE: Final = 16
_SHIFT: Final = 48
_MASK: Final = FAN * FAN - 1


class _Removed:
    """Marks, in a leaf, a removed key that the bulk still has."""


_REMOVED: Final = _Removed()
_NO_CHANGES: Final[Nodes] = [[{} for _ in range(FAN)]] * FAN


class Table(Mapping[K, V]):
    """An immutable mapping. No value is None."""

    __slots__ = ("_bulk", "_in_leaves", "_nodes", "_size")

    _bulk: dict[K, V]
    _nodes: Nodes | None
    _in_leaves: int
    _size: int

    def __init__(
        self, items: Mapping[K, V] | Iterable[tuple[K, V]] = (), *, parts: Parts[K, V] | None = None
    ) -> None:
        if parts is None:
            bulk: dict[K, V] = dict(items)
            parts = bulk, None, 0, len(bulk)
        self._bulk, self._nodes, self._in_leaves, self._size = parts

    @staticmethod
    def owning(bulk: dict[K, V]) -> Table[K, V]:
        """A table that takes over ``bulk``: the caller must not change the dict afterwards."""
        return Table(parts=(bulk, None, 0, len(bulk)))

    def changed(self, changes: Mapping[K, V | None]) -> Table[K, V]:
        """A new table with ``changes``. None removes a key; the key may be unknown."""
        if len(changes) <= 1:
            for key, value in changes.items():
                return self.with_one(key, self.get(key), value)
            return self
        bulk = self._bulk
        if len(bulk) <= SMALL or self._in_leaves + len(changes) > len(bulk) // _ENTRIES_PER_CHANGE:
            return Table.owning(self._replaced(changes))
        before = _NO_CHANGES if self._nodes is None else self._nodes
        nodes = before.copy()
        count, size = self._in_leaves, self._size
        for key, value in changes.items():
            bits = hash(key) >> _SHIFT & _MASK
            high, low = bits >> 6, bits & 63
            node, shared = nodes[high], before[high]
            if node is shared:
                node = nodes[high] = shared.copy()
            leaf = node[low]
            if leaf is shared[low]:
                leaf = node[low] = leaf.copy()
            found, entries = leaf.get(key), len(leaf)
            was_there = key in bulk if found is None else found is not _REMOVED
            if value is not None:
                leaf[key] = value
            elif key in bulk:
                leaf[key] = _REMOVED
            else:
                leaf.pop(key, None)
            size += (value is not None) - was_there
            count += len(leaf) - entries
        return Table(parts=(bulk, nodes, count, size))

    def with_one(self, key: K, before: V | None, value: V | None) -> Table[K, V]:
        """Like ``changed({key: value})``, but faster. ``before`` is this table's value, or None."""
        bulk, count = self._bulk, self._in_leaves
        if len(bulk) <= SMALL or count + 1 > len(bulk) // _ENTRIES_PER_CHANGE:
            return Table.owning(self._replaced({key: value}))
        nodes = (_NO_CHANGES if self._nodes is None else self._nodes).copy()
        bits = hash(key) >> _SHIFT
        high, low = bits >> 6 & 63, bits & 63
        node = nodes[high] = nodes[high].copy()
        leaf = node[low] = node[low].copy()
        entries = len(leaf)
        if value is not None:
            leaf[key] = value
        elif key in bulk:
            leaf[key] = _REMOVED
        else:
            leaf.pop(key, None)
        size = self._size + (value is not None) - (before is not None)
        after: Table[K, V] = Table.__new__(Table)  # faster than __init__
        after._bulk, after._nodes = bulk, nodes
        after._in_leaves, after._size = count + len(leaf) - entries, size
        return after

    def changed_since(self, before: Table[K, V]) -> Iterable[K]:
        """All keys whose values are not the same objects in ``before``; perhaps also other keys.

        Fast if few changes made this table from ``before``.
        """
        if self._bulk is before._bulk:
            nodes = zip(self._nodes or _NO_CHANGES, before._nodes or _NO_CHANGES, strict=True)
            changed = [zip(now, then, strict=True) for now, then in nodes if now is not then]
            leaves = chain.from_iterable(changed)
            return {key for now, then in leaves if now is not then for key in (*now, *then)}
        now, then = self._plain(), before._plain()
        changed_keys = {key for key, value in now.items() if then.get(key) is not value}
        changed_keys.update(key for key in then if key not in now)
        return changed_keys

    def _replaced(self, changes: Mapping[K, V | None]) -> dict[K, V]:
        plain = self._bulk.copy() if self._nodes is None else self._plain()
        for key, value in changes.items():
            if value is None:
                plain.pop(key, None)
            else:
                plain[key] = value
        return plain

    def __getitem__(self, key: K) -> V:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, /, default: V | D) -> V | D: ...
    def get(self, key: K, /, default: Any = None) -> Any:
        if self._nodes is not None:
            bits = hash(key) >> _SHIFT
            found = self._nodes[bits >> 6 & 63][bits & 63].get(key)
            if found is not None:
                return default if found is _REMOVED else found
        return self._bulk.get(key, default)

    @property
    def finder(self) -> Callable[[K], V | None]:
        """A function like ``get``, but faster for many look-ups in a table without leaves."""
        return self._bulk.get if self._nodes is None else self.get

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        return iter(self._plain())

    def keys(self) -> KeysView[K]:
        return _Keys(self)

    def values(self) -> ValuesView[V]:
        return _Values(self)

    def items(self) -> ItemsView[K, V]:
        return _Items(self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Table):
            return Mapping.__eq__(self, other)
        return self._size == other._size and self._plain() == other._plain()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Table of {self._size}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (self._plain(),)

    def _plain(self) -> dict[K, V]:
        """All entries in one dict, which the caller must not change."""
        if self._nodes is None:
            return self._bulk
        plain = self._bulk.copy()
        leaves = [leaf for leaf in chain.from_iterable(self._nodes) if leaf]
        for leaf in leaves:
            plain.update(leaf)
        if len(plain) > self._size:
            changes = chain.from_iterable(leaf.items() for leaf in leaves)
            for key in [key for key, value in changes if value is _REMOVED]:
                del plain[key]
        return plain


class _Keys(KeysView[K]):
    def __init__(self, table: Table[K, Any]) -> None:
        super().__init__(table)
        self._table = table

    def __iter__(self) -> Iterator[K]:
        return iter(self._table)


class _Values(ValuesView[V]):
    def __init__(self, table: Table[Any, V]) -> None:
        super().__init__(table)
        self._table = table

    def __iter__(self) -> Iterator[V]:
        return iter(self._table._plain().values())


class _Items(ItemsView[K, V]):
    def __init__(self, table: Table[K, V]) -> None:
        super().__init__(table)
        self._table = table

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return iter(self._table._plain().items())


EMPTY: Final[Table[Any, Any]] = Table()
