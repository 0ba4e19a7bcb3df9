"""A name in a path prints safely and parses to the same name, whatever it contains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.text.visible_text import safe
from shell.browser.names import read, written

NAMES = st.one_of(st.text(), st.text(alphabet="%.2Ff /\x00é"))


@given(NAMES)
def test_every_name_reads_back_as_itself(name):
    assert read(written(name)) == name


@given(NAMES)
def test_what_is_shown_is_one_visible_component(name):
    component = written(name)
    assert component not in ("", ".", "..")
    assert "/" not in component
    assert component.isprintable()
    assert safe(component) == component
    assert component == component.strip()


@pytest.mark.parametrize(
    "name",
    ["orders", "User:CN=a,OU=b", "a b", "jürgen", "User:*", "100%", "user(alice)", ".x", "…"],
)
def test_a_name_that_breaks_nothing_stands_as_it_is(name):
    assert written(name) == name


@pytest.mark.parametrize(
    ("name", "component"),
    [
        ("a/b", "a%2Fb"),
        ("", "%"),
        ("%", "%25"),
        ("%2F", "%252F"),
        ("..", "%2E%2E"),
        (" x ", "%20x%20"),
        ("a\nb", "a%0Ab"),
        ("a\x1b[2J", "a%1B[2J"),
        ("\u202egnp", "%E2%80%AEgnp"),
    ],
)
def test_codes_stand_for_what_breaks(name, component):
    assert written(name) == component


def test_a_code_may_be_typed_in_small_letters():
    assert read("a%2fb") == "a/b"
