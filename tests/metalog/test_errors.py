"""Errors of the public API."""

import copy
import pickle
from collections.abc import Callable

import pytest

import metalog
from metalog import CorruptLog, CorruptSnapshot, MetalogError, UncertainSource, UnreadableRecord

PLAIN = [
    value("message")
    for name in metalog.__all__
    if isinstance(value := getattr(metalog, name), type) and issubclass(value, MetalogError)
]
LOCATED = [
    kind("a bad CRC", file="a.log", offset=7, byte=9, advice="use a copy")
    for kind in (CorruptLog, CorruptSnapshot, UncertainSource, UnreadableRecord)
]


@pytest.mark.parametrize(
    "duplicate", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy]
)
@pytest.mark.parametrize("error", PLAIN + LOCATED, ids=repr)
def test_an_error_survives_a_copy(
    error: MetalogError, duplicate: Callable[[MetalogError], MetalogError]
) -> None:
    again = duplicate(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
