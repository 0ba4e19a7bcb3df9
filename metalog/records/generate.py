"""``python -m metalog.records.generate [--check]``: writes ``messages/`` from the schema.

One module a message: its NamedTuple, its straight-line codec, its JSON form. What is
written is committed, formatted by ruff, and compiles with mypyc. ``--check`` writes
nothing and exits 1 when a committed module differs from what would be written.

This module must not be imported at run time.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from metalog.records.generated_code import message_module, package_module, snake
from metalog.records.schema import CONTROL_RECORDS, METADATA_RECORDS

FOLDER: Final = Path(__file__).parent / "messages"


def modules() -> Iterator[tuple[str, str]]:
    """Each module's file name and formatted source."""
    for schema in METADATA_RECORDS:
        yield f"{snake(schema.name)}.py", formatted(message_module(schema, "API_KEY"))
    for schema in CONTROL_RECORDS:
        yield f"{snake(schema.name)}.py", formatted(message_module(schema, "CONTROL_TYPE"))
    yield "__init__.py", formatted(package_module(METADATA_RECORDS, CONTROL_RECORDS))


def formatted(source: str) -> str:
    for command in (
        ["check", "--fix-only", "--quiet", "--select", "I,F401,C901,RUF100"],
        ["format"],
    ):
        source = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", f"{FOLDER}/x.py", "-"],
            input=source,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return source


def main(arguments: list[str]) -> int:
    wanted = dict(modules())
    present = {path.name: path.read_text() for path in FOLDER.glob("*.py")}
    if arguments == ["--check"]:
        stale = sorted(n for n in wanted | present if wanted.get(n) != present.get(n))
        for name in stale:
            print(f"{FOLDER / name}: stale; run python -m metalog.records.generate")
        return 1 if stale else 0
    if arguments:
        print("usage: python -m metalog.records.generate [--check]", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    for name in present.keys() - wanted.keys():
        (FOLDER / name).unlink()
    for name, source in wanted.items():
        (FOLDER / name).write_text(source)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
