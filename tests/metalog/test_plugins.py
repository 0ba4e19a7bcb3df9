"""Classes that a configuration names: loaded, or refused with the key's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalog.config.plugins import class_named, instance_of
from metalog.config.properties import Property
from metalog.errors import ConfigException

KEY = "some.class"


def test_a_class_is_found_by_its_full_name() -> None:
    assert class_named("metalog.config.properties.Property", KEY) is Property


def test_an_instance_has_the_methods_that_are_asked_for() -> None:
    found = class_named("collections.OrderedDict", KEY)
    assert instance_of(found, KEY, ["keys", "items"]) == {}
    with pytest.raises(ConfigException, match=r"^some.class=collections.OrderedDict: .* accept"):
        instance_of(found, KEY, ["keys", "accept"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Policy", "give a class by its full name"),
        ("no_such_package.Policy", "there is no module no_such_package"),
        ("metalog.no_such.Policy", "there is no module metalog.no_such"),
        ("metalog.config.properties.Policy", "metalog.config.properties has no class Policy"),
        ("metalog.config.properties.parse_properties", "has no class parse_properties"),
        ("broken_plugin.Policy", "cannot be loaded: ZeroDivisionError"),
        (".Policy", "give a class by its full name"),
    ],
)
def test_what_cannot_be_found_is_named_with_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    (tmp_path / "broken_plugin.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigException, match=f"^some.class={name}: .*{said}"):
        class_named(name, KEY)


def test_what_cannot_be_made_is_named_with_its_key() -> None:
    with pytest.raises(ConfigException, match=r"^some.class=.+Property: cannot be created"):
        instance_of(Property, KEY)
