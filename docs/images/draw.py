"""Draws ``explain.svg``: the answer of `metalog explain` to a pasted line (``make transcripts``).

``explain.txt`` is the same as text. Both are committed, and a test compares them with what
the command prints.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

FOLDER: Final = Path(__file__).resolve().parent
WIDTH: Final = 100
DENIED_LINE: Final = (
    "Principal = User:billing is Denied operation = READ from host = 10.0.4.12 on resource = "
    "Topic:LITERAL:payments-eu for request = Fetch with resourceRefCount = 1 "
    "based on rule DefaultDeny"
)
FONT_FACES: Final = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)


def transcript() -> Text:
    """The command as it is typed, and its answer in colour."""
    typed = Text.assemble(("$ ", "bold green"), (f"metalog explain @demo '{DENIED_LINE}'", "bold"))
    answer = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "shell.main", "explain", "@demo", DENIED_LINE, "--color=always"],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": str(WIDTH)},
        cwd=FOLDER.parents[1],
        check=True,
    )
    return Text("\n").join([typed, Text(), Text.from_ansi(answer.stdout.rstrip("\n"))])


def as_text(text: Text) -> str:
    return f"{text.plain}\n"


def as_svg(text: Text) -> str:
    """The picture. It loads no other file, and is the same each time it is drawn."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(text, highlight=False)
    svg = console.export_svg(title="metalog explain", unique_id="explain")
    return FONT_FACES.sub("\n", svg)


def main() -> int:
    text = transcript()
    (FOLDER / "explain.txt").write_text(as_text(text), encoding="utf-8")
    (FOLDER / "explain.svg").write_text(as_svg(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
