"""Counted words."""

from __future__ import annotations

from metalog.text.plurals import counted, noun_range, plural, ranged


def test_one_and_many() -> None:
    assert [counted(number, "more ACL") for number in (0, 1, 2, 1200)] == [
        "0 more ACLs",
        "1 more ACL",
        "2 more ACLs",
        "1,200 more ACLs",
    ]
    assert [counted(number, "batch is", "batches are") for number in (1, 2)] == [
        "1 batch is",
        "2 batches are",
    ]
    assert [plural(number, "ACL") for number in (1, 2)] == ["ACL", "ACLs"]


def test_a_range_of_one_is_named_once() -> None:
    assert (ranged("Monday", "Friday"), ranged(7, 7)) == ("Monday to Friday", "7")
    assert noun_range("record", 7, 10) == "records 7 to 9"
    assert noun_range("record", 7, 8) == "record 7"
