"""All that the packages' fronts export has a docstring; one with Args names every parameter."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import FunctionType

import pytest

from tests.support.pages.public_api import FRONTS, PACKAGES, exported

ARGS = re.compile(r"^Args:\n(.*?)(?=^\S|\Z)", re.M | re.S)


def functions_of(cls: type) -> Iterator[tuple[str, FunctionType]]:
    """Public methods and properties, including those inherited from our classes."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] not in PACKAGES:
            continue
        for name, value in vars(base).items():
            inner = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
            if isinstance(inner, FunctionType) and not name.startswith("_"):
                yield name, inner


def documented() -> Iterator[tuple[str, object]]:
    for name, value in ((f"{each}.{name}", it) for each in FRONTS for name, it in exported(each)):
        if isinstance(value, type):
            yield name, value
            yield from ((f"{name}.{each}", method) for each, method in functions_of(value))
        elif isinstance(value, FunctionType):
            yield name, value


DOCUMENTED = list(documented())


def test_there_is_much_that_is_public() -> None:
    assert len(DOCUMENTED) > 150


@pytest.mark.parametrize("front", FRONTS)
def test_all_that_is_public_has_a_docstring(front: str) -> None:
    silent = [
        name
        for name, value in DOCUMENTED
        if name.startswith(f"{front}.") and not is_described(name, value)
    ]
    assert silent == []


def is_described(name: str, value: object) -> bool:
    """A NamedTuple without a docstring gets its fields as one."""
    text = (getattr(value, "__doc__", None) or "").strip()
    return bool(text) and not text.startswith(name.rpartition(".")[2] + "(")


def test_args_name_every_parameter_and_nothing_else() -> None:
    wrong = {}
    for name, value in DOCUMENTED:
        if isinstance(value, FunctionType):
            found = ARGS.search(inspect.getdoc(value) or "")
            if found:
                told = set(re.findall(r"^    (\w+):", found[1], re.M))
                taken = {*inspect.signature(value).parameters} - {"self", "cls"}
                if told != taken:
                    wrong[name] = told ^ taken
    assert wrong == {}
