"""An immutable map that shares what did not change with the map it came from.

Up to ``SMALL`` entries are one plain dict; above that two levels of 64 hold plain
dicts ("leaves"), chosen by the high bits of the key's hash (the low ones choose the
slot inside a dict). A change copies the leaves that it touches, the pointers to
them, and nothing else. Keys must have well spread hashes: bytes, strings, tuples;
integers work too, but above ``SMALL`` they would all share one leaf.

The order of iteration is arbitrary and differs between processes. ``repr`` shows no
values, since some of them are secrets. This module must not know what is stored.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from typing import Any, Final, Generic, TypeVar, cast, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

SMALL: Final = 512
FAN: Final = 64
_HIGH: Final = 48
_LEAVES: Final = FAN * FAN


class Table(Mapping[K, V]):
    """A frozen mapping; ``changed`` and ``TableBuilder`` make others from it."""

    __slots__ = ("_dict", "_nodes", "_size")

    _dict: dict[K, V] | None
    _nodes: list[list[dict[K, V]]]
    _size: int

    def __init__(self, items: Iterable[tuple[K, V]] = ()) -> None:
        builder: TableBuilder[K, V] = TableBuilder()
        builder.update(items)
        frozen = builder.freeze()
        self._dict, self._nodes, self._size = frozen._dict, frozen._nodes, frozen._size

    def changed(self, changes: Mapping[K, V | None]) -> Table[K, V]:
        """This map with ``changes``, in which None removes a key (or finds it absent)."""
        if not changes:
            return self
        if len(changes) == 1 and self._dict is None:
            for key, value in changes.items():
                return self._changed_at(key, value)
        builder = TableBuilder(self)
        builder.change(changes)
        return builder.freeze()

    def __getitem__(self, key: K) -> V:
        if self._dict is not None:
            return self._dict[key]
        bits = hash(key) >> _HIGH
        return self._nodes[bits >> 6 & 63][bits & 63][key]

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, /, default: V | D) -> V | D: ...
    def get(self, key: K, /, default: Any = None) -> Any:
        if self._dict is not None:
            return self._dict.get(key, default)
        bits = hash(key) >> _HIGH
        return self._nodes[bits >> 6 & 63][bits & 63].get(key, default)

    def __contains__(self, key: object) -> bool:
        if self._dict is not None:
            return key in self._dict
        bits = hash(key) >> _HIGH
        return key in self._nodes[bits >> 6 & 63][bits & 63]

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        return chain.from_iterable(self._leaves())

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
        if self._size != other._size:
            return False
        if self._dict is not None or other._dict is not None:
            return dict(self.items()) == dict(other.items())
        return all(
            mine is theirs or mine == theirs
            for mine, theirs in zip(self._nodes, other._nodes, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Table of {self._size}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (list(self.items()),)

    def _changed_at(self, key: K, value: V | None) -> Table[K, V]:
        bits = hash(key) >> _HIGH
        high, low = bits >> 6 & 63, bits & 63
        nodes = self._nodes.copy()
        nodes[high] = node = nodes[high].copy()
        node[low] = leaf = node[low].copy()
        before = len(leaf)
        if value is None:
            leaf.pop(key, None)
        else:
            leaf[key] = value
        frozen: Table[K, V] = Table.__new__(Table)
        frozen._dict, frozen._nodes, frozen._size = None, nodes, self._size + len(leaf) - before
        return frozen

    def _leaves(self) -> Iterator[dict[K, V]]:
        if self._dict is not None:
            return iter((self._dict,))
        return chain.from_iterable(self._nodes)


class TableBuilder(Generic[K, V]):
    """A table in the making: owns what it copied, and gives it up by ``freeze``.

    ``copied`` counts the leaves copied (or made) so far.
    """

    __slots__ = ("_base", "_dict", "_owned", "copied")

    def __init__(self, base: Table[K, V] | None = None) -> None:
        self.copied = 0
        self._start(EMPTY if base is None else base)

    def _start(self, base: Table[Any, Any]) -> None:
        self._base: Table[K, V] = base
        self._dict: dict[K, V] | None = None
        self._owned: dict[int, dict[K, V]] = {}
        if base._dict is not None:
            self._dict = base._dict.copy()
            self.copied += 1

    def __setitem__(self, key: K, value: V) -> None:
        self.update(((key, value),))

    def __delitem__(self, key: K) -> None:
        """Remove ``key``, or find it absent."""
        if self._dict is not None:
            self._dict.pop(key, None)
        else:
            self._leaf(hash(key) >> _HIGH & _LEAVES - 1).pop(key, None)

    def change(self, changes: Mapping[K, V | None]) -> None:
        """Set what is not None in ``changes``; remove the keys of what is."""
        gone = [key for key, value in changes.items() if value is None]
        if len(changes) > _LEAVES:
            self._own_all()
        self.update(cast("Iterable[tuple[K, V]]", changes.items()))
        for key in gone:
            del self[key]

    def update(self, items: Iterable[tuple[K, V]]) -> None:
        rest = iter(items)
        if self._dict is not None:
            for key, value in rest:
                self._dict[key] = value
                if len(self._dict) > SMALL:
                    self._spread()
                    break
        if len(self._owned) == _LEAVES:
            high, mask = _HIGH, _LEAVES - 1
            leaves = [self._owned[bits] for bits in range(_LEAVES)]
            for key, value in rest:
                leaves[hash(key) >> high & mask][key] = value
        else:
            for key, value in rest:
                self._leaf(hash(key) >> _HIGH & _LEAVES - 1)[key] = value

    def freeze(self) -> Table[K, V]:
        """The table as it is now; the builder may go on, and copies again."""
        frozen: Table[K, V] = Table.__new__(Table)
        base = self._base
        if self._dict is not None:
            frozen._dict, frozen._nodes, frozen._size = self._dict, [], len(self._dict)
        else:
            frozen._dict = None
            frozen._nodes = nodes = base._nodes.copy() if base._nodes else _NO_NODES.copy()
            frozen._size = base._size if base._nodes else 0
            mine: set[int] = set()
            for bits, leaf in self._owned.items():
                high = bits >> 6
                if high not in mine:
                    mine.add(high)
                    nodes[high] = nodes[high].copy()
                frozen._size += len(leaf) - len(nodes[high][bits & 63])
                nodes[high][bits & 63] = leaf
        self._start(frozen)
        return frozen

    def _leaf(self, bits: int) -> dict[K, V]:
        if bits not in self._owned:
            nodes = self._base._nodes or _NO_NODES
            self._owned[bits] = nodes[bits >> 6][bits & 63].copy()
            self.copied += 1
        return self._owned[bits]

    def _own_all(self) -> None:
        if self._dict is not None:
            self._spread()
        for bits in range(_LEAVES):
            self._leaf(bits)

    def _spread(self) -> None:
        whole, self._dict = self._dict or {}, None
        for key, value in whole.items():
            self._leaf(hash(key) >> _HIGH & _LEAVES - 1)[key] = value


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
        return chain.from_iterable(leaf.values() for leaf in self._table._leaves())


class _Items(ItemsView[K, V]):
    def __init__(self, table: Table[K, V]) -> None:
        super().__init__(table)
        self._table = table

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return chain.from_iterable(leaf.items() for leaf in self._table._leaves())


def _no_nodes() -> list[list[dict[Any, Any]]]:
    leaf: dict[Any, Any] = {}
    return [[leaf] * FAN] * FAN


_NO_NODES: Final = _no_nodes()
EMPTY: Final[Table[Any, Any]] = Table.__new__(Table)
EMPTY._dict, EMPTY._nodes, EMPTY._size = {}, [], 0
