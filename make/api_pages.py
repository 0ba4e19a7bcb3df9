"""Makes a page of the API reference for each package in the site's navigation: for `make docs`.

A hook of MkDocs. Griffe reads signatures and docstrings from the source; our code is not imported.
What a package exports is its ``__all__``. This module must not know what any name does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from griffe import Class, DocstringSectionKind, Function, GriffeLoader, Object
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT: Final = Path(__file__).parent.parent
FOLDER: Final = "reference/api/"
WIDEST: Final = 72


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    packages = re.findall(rf"'{FOLDER}([\w.]+)\.md'", str(config.nav))
    loader = GriffeLoader(search_paths=[ROOT], docstring_parser="google")
    for package in dict.fromkeys(each.partition(".")[0] for each in packages):
        loader.load(package)
    loader.resolve_aliases(external=False)
    for package in packages:
        text = "\n\n".join(_page(loader.modules_collection[package])) + "\n"
        files.append(File.generated(config, f"{FOLDER}{package}.md", content=text))
    return files


def _page(package: Any) -> Iterator[str]:
    yield f"# {package.path}"
    yield from _docstring(package)
    for name in sorted((str(each) for each in package.exports), key=str.lower):
        named = package[name]
        yield f"## {name}"
        yield from _described(named.final_target if named.is_alias else named)


def _described(named: Object) -> Iterator[str]:
    if isinstance(named, Function):
        yield _signature(named.name, named)
        yield from _docstring(named)
    elif isinstance(named, Class):
        yield from _class(named)
    else:
        annotation = getattr(named, "annotation", None)
        yield f"```python\n{named.name}" + (f": {annotation}" if annotation else "") + "\n```"
        yield from _docstring(named)


def _class(named: Class) -> Iterator[str]:
    members = [each for name, each in named.all_members.items() if not name.startswith("_")]
    made = named.all_members.get("__init__")
    bases = ", ".join(str(base) for base in named.bases if not str(base).startswith("_"))
    yield f"```python\nclass {named.name}({bases})".removesuffix("()") + "\n```"
    if isinstance(made, Function):
        yield _signature(named.name, made)
    yield from _docstring(named)
    fields = [each for each in members if each.is_attribute and (each.docstring or not made)]
    if fields:
        yield "\n".join(map(_field, fields))
    for each in members:
        if each.is_function:
            yield f"### {named.name}.{each.name}"
            method = each.final_target if each.is_alias else each
            yield _signature(each.name, method)
            yield from _docstring(method)


def _field(field: Any) -> str:
    annotation = f": {field.annotation}" if str(field.annotation) not in ("None", "Final") else ""
    described = " ".join(field.docstring.value.split()) if field.docstring else ""
    return _plain(f"- `{field.name}{annotation}`" + (f": {described}" if described else ""))


def _signature(name: str, function: Function) -> str:
    """The signature on one line, or with one argument a line."""
    parts, kinds = [], []
    for parameter in function.parameters:
        kind = parameter.kind.value if parameter.kind else ""
        if kind == "keyword-only" and not {"keyword-only", "variadic positional"} & {*kinds}:
            parts.append("*")
        kinds.append(kind)
        if parameter.name not in ("self", "cls"):
            stars = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
            annotation = f": {parameter.annotation}" if parameter.annotation else ""
            default = "" if stars or parameter.default is None else f" = {parameter.default}"
            parts.append(f"{stars}{parameter.name}{annotation}{default}")
    returned = f" -> {function.returns}" if str(function.returns) not in ("None", "") else ""
    line = f"{name}({', '.join(parts)}){returned}"
    if len(line) > WIDEST:
        line = f"{name}(\n    " + ",\n    ".join(parts) + f",\n){returned}"
    return f"```python\n{line}\n```"


def _docstring(named: Any) -> Iterator[str]:
    for section in named.docstring.parsed if named.docstring else ():
        if section.kind is DocstringSectionKind.text:
            yield _plain(section.value)
        else:
            yield f"**{section.kind.value.capitalize()}**"
            yield "\n".join(map(_item, section.value))


def _item(item: Any) -> str:
    name = getattr(item, "name", "") or item.annotation or ""
    described = " ".join(item.description.split())
    return _plain(f"- `{name}`: {described}" if name else f"- {described}")


def _plain(text: str) -> str:
    return text.replace("``", "`")
