"""The optional compiled build, for `make wheel`: with ``METALOG_COMPILED=1`` in the
environment, mypyc makes extension modules of those that the contract "compiled" of
pyproject.toml lists. Without it, as in the sdist and an editable install, all is Python.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).parent


def compiled_extensions() -> list[Extension]:
    from mypyc.build import mypycify

    with (HERE / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    [modules] = [contract["modules"] for contract in contracts if contract["id"] == "compiled"]
    found = [path for module in modules for path in HERE.glob(f"{module.replace('.', '/')}.py")]
    sources = sorted(str(path.relative_to(HERE)) for path in found if path.stem != "__init__")
    return mypycify(sources, opt_level="2", group_name="kraft_metalog", target_dir="build/mypyc")


setup(ext_modules=compiled_extensions() if os.environ.get("METALOG_COMPILED") == "1" else [])
