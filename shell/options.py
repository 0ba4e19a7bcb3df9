"""Parses the arguments of a verb: argparse, with one-line errors and the common options.

This module must not know what any verb does with the arguments.
"""

from __future__ import annotations

import re
from argparse import Action, ArgumentParser, HelpFormatter, Namespace
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from metalog.errors import InvalidRequest
from metalog.text.whole_numbers import whole_number
from shell.output.output import COLORS, prepare_streams
from shell.version import VERSION_LINE

if TYPE_CHECKING:
    from shell.verb_table import VerbModule

_UNRECOGNIZED: Final = "unrecognized arguments: "
_EXPORTED: Final = re.compile(
    r"argument -o/--output: invalid choice: '(yaml|avro|commands|strimzi)'"
)
_NOT_A_NUMBER: Final = re.compile(r"(argument [^:]+): invalid int value: ('.*')", re.DOTALL)
_NOT_A_CHOICE: Final = re.compile(r"(argument [^:]+: invalid choice): '.*'( \(.*\))", re.DOTALL)
_VALUE_OF_FLAG: Final = re.compile(r"(argument [^:]+): ignored explicit argument ")
_HIDDEN_OPTION: Final = "unknown option (not shown: it can be a password)"
TAKES_SECRETS: Final = "takes_secrets"
"""A verb sets this default (``set_defaults``) if its words can contain a password.
Then no error message repeats an unknown word, or an invalid value."""
_LOG: Final = "--log"
_NOT_UNICODE: Final = (
    " is not Unicode: its bytes are not UTF-8; does the terminal use another encoding?"
)
PATHS: Final = frozenset(
    {
        "SOURCE", "B", "TARGET", "WANTED", "PROPOSED", "PATH", "FILE", "[MOMENT=]FILE",
        "DIR", "DIR2", "OUT", "FOLDER", "FOLDER|TOPIC", "PARQUET",
    }
)  # fmt: skip
"""The metavars of paths. A path need not be UTF-8."""
_MOMENT_OPTIONS: Final = ("--at", "--from", "--to")


class _Parser(ArgumentParser):
    def __init__(self, *, advice: str, **options: Any) -> None:
        super().__init__(allow_abbrev=False, add_help=False, **options)
        self._advice = advice

    def _print_message(self, message: str, file: object = None) -> None:
        """Write the help or version as any output. argparse ignores that stdout cannot be
        written."""
        out, _ = prepare_streams(json=False)
        out.write(message)
        out.flush()

    def error(self, message: str) -> NoReturn:
        word = message.removeprefix(_UNRECOGNIZED).partition(" ")[0]
        unknown = option_name(word)
        takes_secrets = self.get_default(TAKES_SECRETS)
        if message.startswith(_UNRECOGNIZED) and unknown.startswith("-"):
            from authorizer.analysis.explain.names import nearest_name

            options = {option.lstrip("-"): option for option in self._option_string_actions}
            near = nearest_name(word.partition("=")[0].lstrip("-"), options.keys())
            message = _HIDDEN_OPTION if takes_secrets else f"unknown option {unknown}"
            if near is not None:
                raise InvalidRequest(f"{message}; did you mean {options[near]}?")
            if unknown in ("--bootstrap-server", "--bootstrap-controller"):
                message += ": a cluster is a SOURCE, cluster://HOST:PORT"
        elif _is_expanded_pattern(message, self._option_string_actions):
            message += ": did the shell expand a pattern? Put the pattern in quotes"
        elif message.startswith(_UNRECOGNIZED):
            words = "" if takes_secrets else f": {message.removeprefix(_UNRECOGNIZED)}"
            message = f"too many arguments{words}"
        elif flag := _VALUE_OF_FLAG.match(message):
            message = f"{flag[1]} takes no value"
        elif number := _NOT_A_NUMBER.fullmatch(message):
            value = "its value" if takes_secrets else number[2]
            message = f"{number[1]}: {value} is not a whole number"
        elif takes_secrets and (choice := _NOT_A_CHOICE.fullmatch(message)):
            message = choice[1] + choice[2]
        elif exported := _EXPORTED.match(message):
            message += f"; metalog export writes ACLs as {exported[1]}"
        raise InvalidRequest(f"{message}; {self._advice}")


def _is_expanded_pattern(message: str, options: Container[str]) -> bool:
    """Whether the first unknown argument is an existing file, as after ``--log logs/*``."""
    unknown = message.removeprefix(_UNRECOGNIZED)
    return unknown != message and _LOG in options and Path(unknown.partition(" ")[0]).exists()


def option_name(word: str) -> str:
    """``-p`` of ``-pVALUE``, and ``--name`` of ``--name=VALUE``. VALUE can be a password."""
    return word.partition("=")[0] if word.startswith("--") else word[:2]


def at_least(least: int, option: str) -> Callable[[str], int]:
    """A parser for the value of ``option``, a number of ``least`` or more.

    The parser raises ``InvalidRequest`` for another text.
    """

    def number(text: str) -> int:
        found = whole_number(text)
        if found is None or found < least:
            raise InvalidRequest(f"{option} {text}: give a whole number, {least} or more")
        return found

    return number


def build_parser(name: str, help_line: str, module: VerbModule) -> ArgumentParser:
    """The parser of one verb, with the options of every verb."""
    parser = _Parser(
        prog=f"metalog {name}",
        usage=f"metalog {name} {module.USAGE}",
        description=help_line + ".",
        epilog=module.EPILOG,
        formatter_class=_Formatter,
        advice=f"see metalog {name} --help",
    )
    module.configure(parser)
    common = parser.add_argument_group("for every verb")
    formats = module.FORMATS
    if len(formats) > 1:
        common.add_argument(
            "-o",
            "--output",
            choices=formats,
            default=formats[0],
            metavar="FORMAT",
            help=f"{', '.join(formats)} (default: {formats[0]})",
        )
    if "json" in formats:
        common.add_argument(
            "--json", action="store_const", dest="output", const="json", help="the same as -o json"
        )
    if len(formats) == 1:
        parser.set_defaults(output=formats[0])
    common.add_argument(
        "--color", choices=COLORS, default="auto", metavar="WHEN", help="auto, always or never"
    )
    common.add_argument(
        "--no-pager", action="store_false", dest="pager", help="do not use $PAGER on a terminal"
    )
    common.add_argument("-q", "--quiet", action="store_true", help="print no notes on stderr")
    common.add_argument(
        "--version", action="version", version=VERSION_LINE, help="the version of metalog"
    )
    common.add_argument("-h", "--help", action="help", help="this text")
    return parser


def plain_parser(name: str, advice: str) -> ArgumentParser:
    """A parser for words that do not belong to a verb. ``advice`` ends most error messages."""
    return _Parser(prog=name, advice=advice)


def parse(parser: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    """The arguments as a namespace.

    The attribute ``typed`` has the words before ``--``. ``rest`` has the words after ``--``.

    Raises:
        InvalidRequest: the arguments are invalid.
    """
    own = list(arguments)
    rest: list[str] = []
    if "--" in own:
        cut = own.index("--")
        own, rest = own[:cut], own[cut + 1 :]
    parsed = parser.parse_intermixed_args(_joined(own), Namespace(rest=rest, typed=tuple(own)))
    _refuse_lone_surrogates(parser, parsed)
    return parsed


def _refuse_lone_surrogates(parser: ArgumentParser, parsed: Namespace) -> None:
    """Kafka's names are Unicode, so only a path can have other bytes. The message does not repeat
    the word, because the word can be a password."""
    if _has_lone_surrogate(parsed.rest):
        raise InvalidRequest(f"a word after --{_NOT_UNICODE}")
    for action in parser._actions:
        if action.metavar in PATHS or not _has_lone_surrogate(getattr(parsed, action.dest, None)):
            continue
        named = "/".join(action.option_strings) or action.metavar or "an argument"
        raise InvalidRequest(f"{named}{_NOT_UNICODE}")


def _has_lone_surrogate(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_lone_surrogate, value))
    if not isinstance(value, str) or value.isascii():
        return False
    from metalog.records.primitives.text import has_lone_surrogate

    return has_lone_surrogate(value)


def _joined(arguments: list[str]) -> list[str]:
    """``--at -6h`` becomes ``--at=-6h``, because argparse would read ``-6h`` as another option."""
    joined: list[str] = []
    for text in arguments:
        if joined and joined[-1] in _MOMENT_OPTIONS and re.match(r"-\d", text):
            joined[-1] += f"={text}"
        else:
            joined.append(text)
    return joined


def invocation(action: Action) -> str:
    """``-o, --output FORMAT``: the same help on every version of Python."""
    if not action.option_strings:
        return str(action.metavar)
    names = ", ".join(action.option_strings)
    value = action.metavar if isinstance(action.metavar, str) else None
    return names if action.nargs == 0 or value is None else f"{names} {value}"


class _Formatter(HelpFormatter):
    """Help whose epilog keeps its line breaks."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=96)

    def _format_action_invocation(self, action: Action) -> str:
        return invocation(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in text.strip().splitlines())
