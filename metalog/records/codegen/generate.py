"""``python -m metalog.records.codegen.generate [--check]``: writes ``messages/`` from the schema.

Each message gets a module with its NamedTuple, its straight-line codec and its JSON form. The
output is formatted by ruff, and committed. The Avro schemas in ``docs/formats`` are written, too.
``--check`` writes nothing, and exits with 1 if a committed file differs from the output.

This module must not be imported at run time.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from metalog.records.codegen.avro_page import MARK, schema_lines, schema_table
from metalog.records.codegen.message_source import message_module
from metalog.records.codegen.package_source import package_module, registry_module
from metalog.records.codegen.typed_field import snake
from metalog.records.schema import CONTROL_RECORDS, METADATA_RECORDS

FOLDER: Final = Path(__file__).parents[1] / "messages"
PAGES: Final = Path(__file__).parents[3] / "docs" / "formats"
_FIXED: Final = "I,F401,C901,PLR0915,RUF100"
CONFIG: Final = Path(__file__).parents[3] / "pyproject.toml"


def modules() -> dict[str, str]:
    """Each module's file name and formatted source."""
    sources = {
        "__init__.py": package_module((*METADATA_RECORDS, *CONTROL_RECORDS)),
        "registry.py": registry_module(METADATA_RECORDS, CONTROL_RECORDS),
    }
    for schemas, key_name in ((METADATA_RECORDS, "API_KEY"), (CONTROL_RECORDS, "CONTROL_TYPE")):
        for schema in schemas:
            sources[f"{snake(schema.name)}.py"] = message_module(schema, key_name)
    return formatted(sources)


def pages() -> dict[Path, str]:
    """The pages about the Avro schemas, with their new text."""
    page = PAGES / "avro.md"
    written_by_hand, mark, _ = page.read_text().partition(MARK)
    return {
        page: written_by_hand + mark + "\n" + schema_table(),
        PAGES / "avro-schemas.jsonl": schema_lines(),
    }


def formatted(sources: dict[str, str]) -> dict[str, str]:
    """``sources`` formatted by ruff, without unused imports and ``noqa`` comments."""
    with TemporaryDirectory() as folder:
        for name, source in sources.items():
            Path(folder, name).write_text(source)
        for command in (["check", "--fix-only", "--select", _FIXED], ["format"]):
            subprocess.run(  # noqa: S603
                [sys.executable, "-m", "ruff", *command, "--quiet", "--config", CONFIG, folder],
                check=True,
            )
        return {name: Path(folder, name).read_text() for name in sources}


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
