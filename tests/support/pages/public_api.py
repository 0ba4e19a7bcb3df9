"""The names that the packages' fronts export, and the page that lists them.

``python -m tests.support.pages.public_api`` rewrites docs/reference/api.md. Each line is the first
sentence of a docstring. This module must not know what a name does.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from tests.support.kafka.cases import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "api.md"
FRONTS = (
    "authorizer", "authorizer.analysis", "metalog", "metalog.controller", "snapshot",
    "metalog_sources", "metalog_node", "metalog_spark", "authorizer.compat.kip11",
)  # fmt: skip
PACKAGES = tuple(dict.fromkeys(front.partition(".")[0] for front in FRONTS))
HEAD = """# The public API

What these packages export is the public API, and nothing else is: import a name from the package
in whose table it stands, `from metalog import open_log`. `help(name)` has the arguments, what is
returned and what is raised. This page is made from the code by `make api`, and a test compares it.

## What may change

- A name on this page goes on working through all versions `1.x`: arguments and keys are added
  with a default, never taken away or put into another order. What must go is marked in the
  [CHANGELOG](../../CHANGELOG.md) one minor version before, and warns meanwhile
  (`DeprecationWarning`). Until 1.0 the CHANGELOG names each change.
- Protocols and classes to derive from (`Publisher`, `Authorizer`) get no new method that you would
  have to write.
- We do not promise the words of messages, the text of a `repr`, the order of what has no
  order, and how long anything takes.
- Codes, keys of configuration and formats are Kafka's, and follow it: see
  [the formats](../formats/README.md).
- Any other module, and any name that begins with `_`, may change at any time.
"""


def exported(front: str) -> Iterator[tuple[str, Any]]:
    module = import_module(front)
    for name in module.__all__:
        yield name, getattr(module, name)


def page() -> str:
    parts = [HEAD]
    for front in FRONTS:
        module = import_module(front)
        parts += [f"\n## {front}\n", f"{first_sentence(module.__doc__ or '')}\n"]
        parts += ["| name | what it is |", "|---|---|"]
        parts += [
            f"| `{called(name, value)}` | {api_line(front, name, value)} |"
            for name, value in sorted(exported(front), key=lambda pair: pair[0].lower())
        ]
    return "\n".join(parts) + "\n"


def called(name: str, value: Any) -> str:
    return f"{name}()" if isinstance(value, FunctionType) else name


def api_line(front: str, name: str, value: Any) -> str:
    """The first sentence of a class's or function's docstring; for a constant, of the text below
    it."""
    if not callable(value):
        return first_sentence(constant_text(home(front, name), name))
    if isinstance(value, type) and issubclass(value, Exception):
        bases = ", ".join(f"`{base.__name__}`" for base in value.__bases__)
        return f"{first_sentence(inspect.getdoc(value) or '')} ({bases})"
    if isinstance(value, type) and issubclass(value, Enum):
        return first_sentence(inspect.getdoc(value) or "")
    return first_sentence(inspect.getdoc(value) or "")


def home(front: str, name: str) -> ModuleType:
    """The module that defines a constant, according to the front's imports."""
    tree = ast.parse(Path(import_module(front).__file__ or "").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(each.name == name for each in node.names):
            return import_module(node.module or "")
    raise LookupError(f"{front} does not import {name}")


def constant_text(module: ModuleType, name: str) -> str:
    """The string below ``name = …``."""
    body = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8")).body
    for node, below in pairwise(body):
        if (
            isinstance(node, ast.Assign | ast.AnnAssign)
            and name in {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            return str(below.value.value)
    return ""


def first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    found = re.match(r"(.*?[.:])(?= [A-Z`\"]|$)", paragraph)
    sentence = (found[1] if found else paragraph).rstrip(":")
    return sentence.replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
