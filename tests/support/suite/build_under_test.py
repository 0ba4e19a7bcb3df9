"""Whether the modules under test come from where they should: Python source, or the wheel.

``METALOG_BUILD=compiled`` says that the modules of the contract "compiled" must be extension
modules, as `make test-compiled` wants; without it they must be Python.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from importlib.util import find_spec

import pytest

from tests.support.kafka.cases import REPOSITORY

SUFFIXES = {"pure": SOURCE_SUFFIXES, "compiled": EXTENSION_SUFFIXES}


def check_build() -> None:
    """``UsageError`` names a module that is not of the build that is expected."""
    expected = os.environ.get("METALOG_BUILD", "pure")
    for module in compiled_modules():
        spec = find_spec(module)
        origin = "nowhere" if spec is None else str(spec.origin)
        if not origin.endswith(tuple(SUFFIXES[expected])):
            raise pytest.UsageError(f"the {expected} {module} is to be tested, not {origin}")


def compiled_modules() -> Iterator[str]:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    [patterns] = [contract["modules"] for contract in contracts if contract["id"] == "compiled"]
    for pattern in patterns:
        for path in REPOSITORY.glob(f"{pattern.replace('.', '/')}.py"):
            if path.stem != "__init__":
                yield ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
