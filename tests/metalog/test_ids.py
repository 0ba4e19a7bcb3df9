"""Entries in the order of their ids, sorted a part at a time."""

from __future__ import annotations

from random import Random

from metalog.ids import Uuid, in_order, parts_in_order


def test_ids_that_begin_alike_come_in_order_and_in_parts_of_a_bounded_size() -> None:
    random = Random(22)
    alike = {Uuid(bytes(14) + number.to_bytes(2, "big")): -number for number in range(10_000)}
    others = {Uuid(random.randbytes(16)): number for number in range(3_000)}
    entries = [*(alike | others).items()]
    random.shuffle(entries)
    assert list(in_order(entries)) == sorted(entries)
    assert max(len(ids) for ids, _ in parts_in_order(entries)) <= 4096


def test_no_entries_have_an_order() -> None:
    assert list(in_order([])) == []
