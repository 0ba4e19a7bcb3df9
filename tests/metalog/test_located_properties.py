"""A message about a key begins with the place of the value in force."""

from __future__ import annotations

import pytest

from metalog.config.located_properties import LocatedProperties
from metalog.config.properties import Property


@pytest.mark.parametrize(
    ("text", "default", "placed"),
    [
        ("a=1: too low", "", "f, line 1: a=1: too low"),
        ("a: too low", "b", "f, line 1: a: too low"),
        ("too low", "a", "f, line 1: too low"),
        ("too low", "", "f: too low"),
        ("b=2: too low", "", "--b=2: too low"),
        ("b: too low", "a", "--b: too low"),
        ("too low", "b", "--b: too low"),
        ("c: too low", "b", "--b: c: too low"),
    ],
)
def test_a_message_names_the_line_or_the_option(text: str, default: str, placed: str) -> None:
    """An option hides the line of its key."""
    properties = LocatedProperties([Property("a", "1", 1), Property("b", "1", 2)], "f")
    properties.override("b", "2", "--b")
    assert properties.placed_text(text, default) == placed
