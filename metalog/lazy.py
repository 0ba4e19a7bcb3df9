"""Imports each name of a package's public API when it is first used.

A program then loads only the parts that it uses. This module must not know which names a package
exports.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], list[str]]:
    """The ``__getattr__`` (PEP 562) and ``__all__`` of a package; ``package`` is its ``__name__``.

    ``modules`` maps the name of a module (absolute, or relative to the package) to its exported
    names, separated by blanks.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def imported(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return imported, sorted(homes)
