from __future__ import annotations

import time

import pytest

from authorizer.analysis.explain.names import nearest_name, nearest_principal

KNOWN = {"payments", "payments-eu", "orders", "User:alice", "User:bob", "billing.invoices.v2"}


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("payment", "payments"),
        ("paymnets", "payments"),
        ("Payments", "payments"),
        ("ORDERS", "orders"),
        ("User:bobb", "User:bob"),
        ("user:bob", "User:bob"),
        ("billing.invoice.v3", "billing.invoices.v2"),
        ("nothing like it", None),
        ("", None),
        ("o", None),
    ],
)
def test_the_nearest(name, nearest):
    assert nearest_name(name, KNOWN) == nearest


@pytest.mark.parametrize(
    ("principal", "nearest"),
    [
        ("User:bobb", "User:bob"),
        ("User:BOB", "User:bob"),
        ("user:bob", "User:bob"),
        ("Usr:alice", "User:alice"),
        ("User:a", None),
        ("User:x", None),
        ("User:eve", None),
        ("User:", None),
        ("User:payments", None),
    ],
)
def test_the_nearest_principal_is_near_by_its_name(principal, nearest):
    assert nearest_principal(principal, KNOWN) == nearest


def test_of_names_of_two_letters_only_case_can_differ():
    assert nearest_name("ab", {"ac", "AB"}) == "AB"
    assert nearest_name("ab", {"ac", "abc"}) is None


def test_half_a_million_alike_names_do_not_make_it_slow():
    known = {f"foo-bar35_resource-{i}" for i in range(500_000)}
    started = time.process_time()
    assert nearest_name("foo-bar35_resource-12x", known) is not None
    assert nearest_name("fop-bar35_resource-49999x9x", known) is not None
    assert nearest_name("x" * 5_000, known) is None
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "similar",
    [
        lambda number: "x" * 240 + f"{number:09}",
        lambda number: f"{number:09}" + "x" * 240,
        lambda number: "a" * (170 + number % 29) + f"{number:05}",
        lambda number: f"{number:016b}" * 12,
        lambda number: "a" * (1 + number % 2_000),
    ],
)
def test_long_hostile_names_do_not_make_it_slow(similar):
    """Each of these names once took more than a second against 45,000 names."""
    known = {similar(number) for number in range(20_000)}
    name = min(known, key=len)[:-1] + "!"
    started = time.process_time()
    nearest_name(name, known)
    nearest_name("y" + name[1:-3] + "zzz", known)
    assert time.process_time() - started < 1


def test_of_many_long_names_the_one_that_shares_most_at_its_ends_is_found():
    known = {f"{'x' * 100}-{number:05}-{'y' * 100}" for number in range(10_000)}
    asked = f"{'x' * 100}-01234!!-{'y' * 100}"
    assert nearest_name(asked, known) is not None
