"""``python -m metalog.records.codegen.generate [--check]``: writes ``messages/`` from the schema.

Each message gets a module with its NamedTuple, its codec and its JSON form. ruff formats the
output, which is committed. The generator also writes the Avro schemas in ``docs/formats``.
``--check`` writes nothing, and exits with 1 if a file differs from the output.

This module must not be imported at run time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from metalog.records.avro.codec import NAMESPACE, avro_types
from metalog.records.codegen.message_source import HEADER, message_module, nested_structs
from metalog.records.codegen.typed_field import snake
from metalog.records.schema import CONTROL_RECORDS, METADATA_RECORDS, MessageSchema

FOLDER: Final = Path(__file__).parents[1] / "messages"
PAGES_FOLDER: Final = Path(__file__).parents[3] / "docs" / "formats"
_LINT_RULES: Final = "I,F401,C901,PLR0915,RUF100"
CONFIG: Final = Path(__file__).parents[3] / "pyproject.toml"
MARK: Final = "<!-- The rest is generated from metalog/records/schema.py. -->\n"
Schemas = tuple[MessageSchema, ...]
_BETWEEN_NAMES: Final = ' " "'
"""A blank at the end of one string literal; ruff can break the line before the next literal."""
_LOOKUPS: Final = '''
@cache
def message_type(api_key: int) -> type[Message] | None:
    """The class of a metadata record; None for an unknown key."""
    found = METADATA.get(api_key)
    return None if found is None else cast("type[Message]", _imported(*found))


@cache
def control_message_type(key: int) -> type[ControlMessage] | None:
    """The class of a control record of the quorum; None for an unknown key."""
    found = CONTROL.get(key)
    return None if found is None else cast("type[ControlMessage]", _imported(*found))


def _imported(module: str, name: str) -> object:
    return getattr(import_module(f"metalog.records.messages.{module}"), name)
'''


def modules() -> dict[str, str]:
    sources = {
        "__init__.py": package_module((*METADATA_RECORDS, *CONTROL_RECORDS)),
        "registry.py": registry_module(METADATA_RECORDS, CONTROL_RECORDS),
    }
    for schemas, key_name in ((METADATA_RECORDS, "API_KEY"), (CONTROL_RECORDS, "CONTROL_TYPE")):
        for schema in schemas:
            sources[f"{snake(schema.name)}.py"] = message_module(schema, key_name)
    return formatted(sources)


def pages() -> dict[Path, str]:
    """The new text of each page about the Avro schemas."""
    page = PAGES_FOLDER / "avro.md"
    written_by_hand, mark, _ = page.read_text().partition(MARK)
    return {
        page: written_by_hand + mark + "\n" + schema_table(),
        PAGES_FOLDER / "avro-schemas.jsonl": schema_lines(),
    }


def formatted(sources: dict[str, str]) -> dict[str, str]:
    """``sources`` without unused imports and unused ``noqa`` comments."""
    with TemporaryDirectory() as folder:
        for name, source in sources.items():
            Path(folder, name).write_text(source)
        for command in (["check", "--fix-only", "--select", _LINT_RULES], ["format"]):
            subprocess.run(  # noqa: S603
                [sys.executable, "-m", "ruff", *command, "--quiet", "--config", CONFIG, folder],
                check=True,
            )
        return {name: Path(folder, name).read_text() for name in sources}


def schema_table() -> str:
    lines = ["| type | version | fingerprint | fields |", "|---|---|---|---|"]
    lines += [
        f"| {each.name} | {each.version} | `{each.fingerprint.hex()}` |"
        f" {', '.join(_field_texts(each.schema)) or 'none'} |"
        for each in avro_types()
    ]
    return "\n".join(lines) + "\n"


def schema_lines() -> str:
    """The complete schemas, one JSON object per line."""
    return "".join(
        json.dumps({"fingerprint": each.fingerprint.hex(), "schema": each.schema}) + "\n"
        for each in avro_types()
    )


def _field_texts(record: Mapping[str, Any]) -> Iterator[str]:
    """``name type`` for each field but the last, which has the unknown tagged fields."""
    for field in record["fields"][:-1]:
        yield f"{field['name']} {_type_text(field['type'])}"


def _type_text(avro: Any) -> str:
    if isinstance(avro, list):
        return f"{_type_text(avro[1])}?"
    if isinstance(avro, str):
        return avro.rpartition(".")[2]
    if avro["type"] == "array":
        return f"[{_type_text(avro['items'])}]"
    if avro["type"] == "fixed":
        return str(avro["name"]).removeprefix(f"{NAMESPACE}.")
    return f"{{{', '.join(_field_texts(avro))}}}"


def package_module(schemas: Schemas) -> str:
    structs = [n for s in schemas for n, _ in nested_structs(s.fields)]
    exported = {
        snake(s.name): [s.name, *(n for n, _ in nested_structs(s.fields) if structs.count(n) == 1)]
        for s in schemas
    }
    lines = [
        HEADER,
        '"""Exports the message classes, and imports each class at its first use.',
        "",
        "``registry`` finds a class by its key. Two classes are called ``Voter``: import ``Voter``",
        "from the module of its message.",
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
    table = ", ".join(
        f'".{module}": "{_BETWEEN_NAMES.join(names)}"' for module, names in exported.items()
    )
    lines += [
        "",
        "if not TYPE_CHECKING:",
        f"    __getattr__, __all__ = lazy_names(__name__, {{{table}}})",
    ]
    return "\n".join(lines)


def registry_module(metadata: Schemas, control: Schemas) -> str:
    lines = [
        HEADER,
        '"""Finds a message class by its key, and imports the class at the first use."""',
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
    lines += ["", _LOOKUPS]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    wanted = {FOLDER / name: source for name, source in modules().items()} | pages()
    present = {path: path.read_text() for path in {*FOLDER.glob("*.py"), *wanted} if path.is_file()}
    if arguments == ["--check"]:
        stale = sorted(p for p in wanted | present if wanted.get(p) != present.get(p))
        for path in stale:
            print(f"{path}: stale; run python -m metalog.records.codegen.generate")
        return 1 if stale else 0
    if arguments:
        print("usage: python -m metalog.records.codegen.generate [--check]", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    for path in present.keys() - wanted.keys():
        path.unlink()
    for path, text in wanted.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
