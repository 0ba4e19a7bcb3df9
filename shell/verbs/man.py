"""``metalog man [VERB]``: the manual page of a verb or of ``metalog``, made from the help texts.

This module must not know what any verb does.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from metalog.errors import InvalidRequest
from shell.options import build_parser, invocation
from shell.output.output import Output
from shell.version import VERSION

USAGE: Final = "[VERB] [--to FOLDER]"
FORMATS: Final = ("text",)
PAGED: Final = False
EPILOG: Final = """\
metalog man explain | man -l -
metalog man --to /usr/local/share/man/man1          a page for each verb"""


def configure(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("page")
    group.add_argument("verb", nargs="*", metavar="VERB", help="the verb (default: metalog itself)")
    group.add_argument("--to", metavar="FOLDER", help="write every page into this folder")


def run(arguments: Namespace, output: Output) -> int:
    from shell.main import TABLE

    parsers = {
        name: build_parser(name, verb.line, module) for name, verb, module in TABLE.commands()
    }
    pages = {"": _overview(TABLE.overview())} | {
        name: _page(name, parser) for name, parser in parsers.items()
    }
    verb = " ".join(arguments.verb)
    if verb not in pages:
        raise InvalidRequest(
            f"there is no page {verb!r}; metalog --help and metalog pipeline --help list the verbs"
        )
    if arguments.to is None:
        output.line("\n".join(pages[verb]))
        return 0
    folder = Path(arguments.to)
    if folder.is_file():
        raise InvalidRequest(f"--to {folder}: a file, not a folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in pages.items():
        text = "\n".join(lines) + "\n"
        (folder / f"{_file(name)}.1").write_text(text, encoding="utf-8")
    return 0


def _file(name: str) -> str:
    return "-".join(("metalog", *name.split()))


def _overview(text: str) -> list[str]:
    usage, _, rest = text.partition("\n")
    what = usage.partition("      ")[2]
    return [
        *_head("", what),
        ".SH SYNOPSIS",
        r"\fBmetalog\fR VERB SOURCE [options]",
        ".SH VERBS",
        *_as_it_is(rest.strip().splitlines()),
    ]


def _page(name: str, parser: ArgumentParser) -> list[str]:
    what = (parser.description or "").removesuffix(".")
    usage = (parser.usage or "").removeprefix("metalog ")
    lines = [*_head(name, what), ".SH SYNOPSIS", rf"\fBmetalog\fR {_escaped(usage)}"]
    for group in parser._action_groups:
        actions = [each for each in group._group_actions if each.help != SUPPRESS]
        if not actions:
            continue
        lines.append(f".SH {_escaped((group.title or '').upper())}")
        for action in actions:
            text = (action.help or "").replace("%%", "%")
            lines += [".TP", rf"\fB{_escaped(invocation(action))}\fR", _text(text)]
    return [*lines, ".SH EXAMPLES", *_as_it_is((parser.epilog or "").strip().splitlines())]


def _head(name: str, what: str) -> Iterator[str]:
    title = _file(name)
    yield f'.TH {title.upper()} 1 "" "metalog {VERSION}" "metalog"'
    yield ".SH NAME"
    yield f"{_escaped(title)} \\- {_escaped(what)}"


def _as_it_is(lines: Iterable[str]) -> Iterator[str]:
    yield ".nf"
    yield from map(_text, lines)
    yield ".fi"


def _text(line: str) -> str:
    """A dot or a quote at the beginning would make the line a request to roff."""
    return f"\\&{_escaped(line)}" if line.startswith((".", "'")) else _escaped(line)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-")
