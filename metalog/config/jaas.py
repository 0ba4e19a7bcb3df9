"""Reads login modules and their options from JAAS text, the value of ``sasl.jaas.config``.

This module follows Java's StreamTokenizer, as Kafka does, and refuses the texts that Kafka refuses.
This module also refuses an unclosed quote, and an option whose name is a number or a sign. No error
shows a value, because a value can be a password. This module must not know what any login module
does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.text.plurals import counted

PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"

_FLAGS: Final = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")
_NUMBER: Final = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]*)|-\.[0-9]*")
_WORD: Final = re.compile(r"[A-Za-z0-9_$.\-\u00a0-\U0010ffff]+")
_SKIPPED: Final = re.compile(
    r"[\0- ]+"
    r"|/\*(?s:.*?)(?:\*/|\Z)"
    r"|//[^\n\r]*"
    r"|/(?s:.)?[^\n\r]*"
)
"""Whitespace and comments. In Java, ``/`` and any next character, even LF, begin a comment."""
_QUOTED: Final = re.compile(r"\"((?:[^\"\\\n\r]|\\(?s:.))*)\"|'((?:[^'\\\n\r]|\\(?s:.))*)'")
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|(?s:.))")
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class LoginModule(NamedTuple):
    """One login module; ``name`` is a Java class. The last value of a repeated option counts."""

    name: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"LoginModule({self.name!r}, [hidden])"


class _Token(NamedTuple):
    """``text`` is a word or a quoted string, ``character`` any other sign. A number has neither."""

    text: str | None
    character: str = ""


def login_module(text: str) -> LoginModule:
    """The login module in ``text``; ``InvalidRequest`` unless there is exactly one."""
    modules = login_modules(text)
    if len(modules) != 1:
        raise InvalidRequest(
            f"it has {counted(len(modules), 'login module')}; give one, with one ; at its end"
        )
    return modules[0]


def login_modules(text: str) -> list[LoginModule]:
    """All login modules in ``text``; ``InvalidRequest`` if the text is invalid."""
    tokens = list(_tokens(text))
    modules, at = [], 0
    while at < len(tokens):
        end = next((end for end in range(at, len(tokens)) if tokens[end].character == ";"), None)
        if end is None:
            raise InvalidRequest("a login module must end with a semicolon")
        modules.append(_login_module(tokens[at:end]))
        at = end + 1
    return modules


def _login_module(tokens: list[_Token]) -> LoginModule:
    if len(tokens) < 2 or not tokens[0].text or (tokens[1].text or "").upper() not in _FLAGS:
        raise InvalidRequest(f'write CLASS {"|".join(_FLAGS).lower()} NAME="VALUE" …;')
    options = {}
    for at in range(2, len(tokens), 3):
        name, equals, value = (*tokens[at : at + 3], _Token(None), _Token(None))[:3]
        if name.text is None or equals.character != "=" or value.text is None:
            number = (at - 2) // 3 + 1
            raise InvalidRequest(
                f'option {number} of a login module is not NAME="VALUE"; put the value in quotes,'
                ' and \\ before a " or \\ in it'
            )
        options[name.text] = value.text
    return LoginModule(tokens[0].text, options)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        character = text[at]
        if skipped := _SKIPPED.match(text, at):
            at = skipped.end()
        elif character in "\"'":
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                raise InvalidRequest(f"the quote at character {at + 1} is not closed on its line")
            at = quoted.end()
            yield _Token(_ESCAPE.sub(_unescaped, quoted[1] or quoted[2] or ""))
        elif number := _NUMBER.match(text, at):
            at = number.end()
            yield _Token(None)
        elif character != "-" and (word := _WORD.match(text, at)):
            at = word.end()
            yield _Token(word[0])
        else:
            at += 1
            yield _Token(None, character)


def _unescaped(escape: re.Match[str]) -> str:
    what = escape[1]
    if what[0] in "01234567":
        return chr(int(what, 8))
    return _ESCAPED.get(what, what)
