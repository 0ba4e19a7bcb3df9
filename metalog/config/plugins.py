"""Loads the classes that a configuration names as ``package.module.Class``.

Each failure is a ``ConfigException`` that names the key, because a program must not start without a
class that its configuration names. This module must not know what a class is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from metalog.errors import ConfigException


def class_named(name: str, key: str) -> type[Any]:
    """The class called ``name``, which is the value of ``key`` in a configuration."""
    module_name, _, class_name = name.rpartition(".")
    if not module_name:
        raise ConfigException(f"{key}={name}: give a class by its full name, package.module.Class")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigException(
            f"{key}={name}: there is no module {error.name}; is it on PYTHONPATH?"
        ) from None
    except Exception as error:
        raise ConfigException(
            f"{key}={name}: its module cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise ConfigException(f"{key}={name}: {module_name} has no class {class_name}")
    return found


def instance_of(found: type[Any], key: str, methods: Sequence[str] = ()) -> Any:
    """An instance of ``found``, created without arguments; ``found`` must have all ``methods``."""
    name = f"{found.__module__}.{found.__qualname__}"
    missing = [method for method in methods if not callable(getattr(found, method, None))]
    if missing:
        raise ConfigException(f"{key}={name}: it has no method {' and no method '.join(missing)}")
    try:
        return found()
    except Exception as error:
        raise ConfigException(
            f"{key}={name}: cannot be created: {type(error).__name__}: {error}"
        ) from error
