"""Entries in the order of their ids, sorted a part at a time."""

from __future__ import annotations

from random import Random

from metalog.ids import Uuid, bytes_in_order, in_order


class Counted(bytes):
    """Counts the comparisons of all of its kind."""

    compared = 0

    def __lt__(self, other: bytes) -> bool:
        Counted.compared += 1
        return bytes(self) < bytes(other)


def some_ids() -> list[bytes]:
    """13,000 ids in random order, of which 10,000 are equal in their first 14 bytes."""
    random = Random(22)
    ids = [bytes(14) + number.to_bytes(2, "big") for number in range(10_000)]
    ids += [random.randbytes(16) for _ in range(3_000)]
    random.shuffle(ids)
    return ids


def test_ids_that_begin_alike_come_in_order() -> None:
    entries = [(Uuid(each), -number) for number, each in enumerate(some_ids())]
    assert list(in_order(entries)) == sorted(entries)


def test_no_sort_between_two_ids_compares_more_than_a_part_needs() -> None:
    before, most = 0, 0
    for _ in bytes_in_order(map(Counted, some_ids())):
        most, before = max(most, Counted.compared - before), Counted.compared
    assert 0 < most < 4096 * 12


def test_no_entries_have_an_order() -> None:
    assert list(in_order([])) == []
