"""Errors of the public API."""

import copy
import pickle
from collections.abc import Callable

import pytest

import metalog
from metalog import CorruptLog, CorruptSnapshot, MetalogError, UncertainSource, UnreadableRecord
from metalog_sources import image_at
from metalog_sources.targets.answers import PartlyDone
from tests.support.kafka.cases import DEMO

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
@pytest.mark.parametrize("error", [*PLAIN, *LOCATED, PartlyDone("x", 1, is_exact=True)], ids=repr)
def test_an_error_survives_a_copy(
    error: MetalogError, duplicate: Callable[[MetalogError], MetalogError]
) -> None:
    again = duplicate(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_the_error_of_an_early_moment_can_be_sent_to_another_process() -> None:
    with pytest.raises(metalog.InvalidMoment) as early:
        image_at(DEMO / "log-dir", "@0")
    assert str(pickle.loads(pickle.dumps(early.value))) == str(early.value)
