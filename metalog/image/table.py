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

Parts = tuple[dict[K, V] | None, list[list[dict[K, V]]], int]

SMALL: Final = 2048
FAN: Final = 64
_HIGH: Final = 48
_LEAVES: Final = FAN * FAN
_MASK: Final = _LEAVES - 1


class Table(Mapping[K, V]):
    """A frozen mapping; ``changed`` and ``TableBuilder`` make others from it."""

    __slots__ = ("_dict", "_nodes", "_size")

    _dict: dict[K, V] | None
    _nodes: list[list[dict[K, V]]]
    _size: int

    def __init__(
        self, items: Iterable[tuple[K, V]] = (), *, parts: Parts[K, V] | None = None
    ) -> None:
        """``parts`` are what a builder gives, instead of ``items``."""
        if parts is None:
            builder: TableBuilder[K, V] = TableBuilder()
            builder.update(items)
            parts = builder.parts()
        self._dict, self._nodes, self._size = parts

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
        return Table(parts=(None, nodes, self._size + len(leaf) - before))

    def _leaves(self) -> Iterator[dict[K, V]]:
        if self._dict is not None:
            return iter((self._dict,))
        return chain.from_iterable(self._nodes)


class TableBuilder(Generic[K, V]):
    """A table in the making: owns what it copied, and gives it up by ``freeze``.

    Small, it is one dict. Above that it owns single leaves, or, where it began with
    nothing or much changes, all of them in one list. ``copied`` counts the leaves copied.
    """

    __slots__ = ("_all", "_base", "_dict", "_owned", "copied")

    def __init__(self, base: Table[K, V] | None = None) -> None:
        self.copied = 0
        self._start(EMPTY if base is None else base)

    def _start(self, base: Table[K, V]) -> None:
        self._base = base
        self._dict: dict[K, V] | None = None
        self._owned: dict[int, dict[K, V]] = {}
        self._all: list[dict[K, V]] | None = None

    def __setitem__(self, key: K, value: V) -> None:
        self.update(((key, value),))

    def discard(self, key: K) -> bool:
        """Remove ``key``; false if it was not there."""
        place = self._small()
        if place is None:
            place = self._leaf(hash(key) >> _HIGH & _MASK)
        return place.pop(key, None) is not None

    def change(self, changes: Mapping[K, V | None]) -> None:
        """Set what is not None in ``changes``; remove the keys of what is."""
        gone = [key for key, value in changes.items() if value is None]
        if len(changes) > _LEAVES and self._small() is None:
            self._own_all()
        self.update(cast("Iterable[tuple[K, V]]", changes.items()))
        for key in gone:
            self.discard(key)

    def update(self, items: Iterable[tuple[K, V]]) -> None:
        rest = iter(items)
        small = self._small()
        if small is not None:
            for key, value in rest:
                small[key] = value
                if len(small) > SMALL:
                    self._spread(small)
                    break
            else:
                return
        if self._all is None:
            for key, value in rest:
                self._leaf(hash(key) >> _HIGH & _MASK)[key] = value
        else:
            leaves, high, mask = self._all, _HIGH, _MASK
            for key, value in rest:
                leaves[hash(key) >> high & mask][key] = value

    def freeze(self) -> Table[K, V]:
        """The table as it is now; the builder may go on, and copies again."""
        if self._all is None and self._dict is None and not self._owned:
            return self._base
        frozen = Table(parts=self.parts())
        self._start(frozen)
        return frozen

    def parts(self) -> Parts[K, V]:
        """What the table is made of now: the small dict, the nodes, and how many entries."""
        if self._all is not None:
            nodes = [self._all[at : at + FAN] for at in range(0, _LEAVES, FAN)]
            return None, nodes, sum(map(len, self._all))
        if self._dict is not None:
            return self._dict, [], len(self._dict)
        if self._owned:
            return self._with_owned()
        return self._base._dict, self._base._nodes, self._base._size

    def _with_owned(self) -> Parts[K, V]:
        nodes, size = self._base._nodes.copy(), self._base._size
        mine: set[int] = set()
        for bits, leaf in self._owned.items():
            high, low = bits >> 6, bits & 63
            if high not in mine:
                mine.add(high)
                nodes[high] = nodes[high].copy()
            size += len(leaf) - len(nodes[high][low])
            nodes[high][low] = leaf
        return None, nodes, size

    def _small(self) -> dict[K, V] | None:
        """The one dict, to be changed; None for a table in leaves."""
        if self._dict is None and self._all is None and self._base._dict is not None:
            self._dict = self._base._dict.copy()
            self.copied += 1
        return self._dict

    def _leaf(self, bits: int) -> dict[K, V]:
        if self._all is not None:
            return self._all[bits]
        leaf = self._owned.get(bits)
        if leaf is None:
            leaf = self._owned[bits] = self._base._nodes[bits >> 6][bits & 63].copy()
            self.copied += 1
        return leaf

    def _own_all(self) -> None:
        self._all = [self._leaf(bits) for bits in range(_LEAVES)]

    def _spread(self, small: dict[K, V]) -> None:
        self._dict = None
        self._all = [{} for _ in range(_LEAVES)]
        self.copied += _LEAVES
        self.update(small.items())


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


EMPTY: Final[Table[Any, Any]] = Table(parts=({}, [], 0))
