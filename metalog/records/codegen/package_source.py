"""The source text of ``messages/__init__.py`` and ``registry.py``. Used by ``generate`` only.

Text in, text out; formatting is ruff's. This module must not know files.
"""

from __future__ import annotations

from typing import Final

from metalog.records.codegen.message_source import HEADER, nested_structs
from metalog.records.codegen.typed_field import snake
from metalog.records.schema import MessageSchema

Schemas = tuple[MessageSchema, ...]


def package_module(schemas: Schemas) -> str:
    """``messages/__init__.py``: every class by name, imported when first used."""
    structs = [n for s in schemas for n, _ in nested_structs(s.fields)]
    exported = {
        snake(s.name): [s.name, *(n for n, _ in nested_structs(s.fields) if structs.count(n) == 1)]
        for s in schemas
    }
    lines = [
        HEADER,
        '"""Every message class by name, imported when first used; by key, see ``registry``.',
        "",
        "Two classes are called ``Voter``: import it from the module of its message.",
        '"""',
        "",
        "from __future__ import annotations",
        "from typing import TYPE_CHECKING",
        "from metalog.lazy import lazy_names",
        "",
        "if TYPE_CHECKING:",
    ]
    for module, names in exported.items():
        lines += [f"    from .{module} import {name} as {name}" for name in names]
    table = {f".{module}": tuple(names) for module, names in exported.items()}
    lines += [
        "",
        "if not TYPE_CHECKING:",
        f"    __getattr__, __all__ = lazy_names(__name__, {table!r})",
    ]
    return "\n".join(lines)


def registry_module(metadata: Schemas, control: Schemas) -> str:
    """``messages/registry.py``: every class by key."""
    lines = [
        HEADER,
        '"""Every message class by its key, imported when first used."""',
        "",
        "from __future__ import annotations",
        "from functools import cache",
        "from importlib import import_module",
        "from typing import Final, cast",
        "",
        "from metalog.records.message import ControlMessage, Message",
    ]
    for constant, members in (("METADATA", metadata), ("CONTROL", control)):
        lines += ["", f"{constant}: Final = {{"]
        lines += [f'    {s.key}: ("{snake(s.name)}", "{s.name}"),' for s in members] + ["}"]
    lines += ["", _BY_KEY]
    return "\n".join(lines)


_BY_KEY: Final = '''
@cache
def message_type(api_key: int) -> type[Message] | None:
    """The class of a metadata record, None for a key that this version does not know."""
    found = METADATA.get(api_key)
    return None if found is None else cast("type[Message]", _imported(*found))


@cache
def control_type(key: int) -> type[ControlMessage] | None:
    """The class of a control record of the quorum, None for any other."""
    found = CONTROL.get(key)
    return None if found is None else cast("type[ControlMessage]", _imported(*found))


def _imported(module: str, name: str) -> object:
    return getattr(import_module(f"metalog.records.messages.{module}"), name)
'''
