"""The license files that a user gets with the code."""

import tomllib
from importlib.metadata import metadata

from tests.support.kafka.cases import PACKAGES, REPOSITORY


def test_the_license_is_apache_2_and_whole() -> None:
    text = (REPOSITORY / "LICENSE").read_text(encoding="ascii")
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["license"] == "Apache-2.0"


def test_what_is_installed_says_its_license() -> None:
    assert metadata("kraft-metalog")["License-Expression"] == "Apache-2.0"


def test_each_package_is_marked_as_typed() -> None:
    for package in PACKAGES:
        assert (REPOSITORY / package / "py.typed").is_file()
