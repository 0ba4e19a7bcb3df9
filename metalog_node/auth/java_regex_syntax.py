"""Parses Java's regular expressions: the part of java.util.regex that ``java_regex`` supports.

Any other syntax raises ``InvalidRequest``, so that no pattern is read differently than in Java.
This module must not know how a pattern is matched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest

DEEPEST: Final = 50
"""The maximum depth of nested groups."""

_Test = Callable[[str], bool]


class OneOf(NamedTuple):
    """Matches one character for which ``holds`` is true."""

    holds: _Test


class Assertion(NamedTuple):
    """Matches no character; ``holds`` takes the text and a position."""

    holds: Callable[[str, int], bool]


class Sequence(NamedTuple):
    parts: tuple[Node, ...]


class Alternatives(NamedTuple):
    """``|``: the first alternative that leads to a match counts."""

    nodes: tuple[Node, ...]


class RegexGroup(NamedTuple):
    number: int
    node: Node


class Repeat(NamedTuple):
    """A quantifier; ``most`` is None without an upper bound."""

    node: Node
    least: int
    most: int | None
    is_greedy: bool


Node = OneOf | Assertion | Sequence | Alternatives | RegexGroup | Repeat


class Parsed(NamedTuple):
    """A parsed pattern; ``names`` maps group names to numbers."""

    node: Node
    groups: int
    names: dict[str, int]


_SPECIAL: Final = frozenset("\\^$.|?*+()[{")
_LINE_ENDS: Final = frozenset("\n\r\x85\u2028\u2029")
_BLANKS: Final = frozenset(" \t\xa0\u1680\u180e\u202f\u205f\u3000") | frozenset(
    map(chr, range(0x2000, 0x200B))
)
_LOWER: Final = frozenset("abcdefghijklmnopqrstuvwxyz")
_UPPER: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGIT: Final = frozenset("0123456789")
_PUNCT: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SPACE: Final = frozenset(" \t\n\x0b\f\r")
_WORD: Final = _LOWER | _UPPER | _DIGIT | {"_"}
_GRAPH: Final = _LOWER | _UPPER | _DIGIT | _PUNCT
_POSIX: Final = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": frozenset(map(chr, range(128))),
    "Alpha": _LOWER | _UPPER,
    "Digit": _DIGIT,
    "Alnum": _LOWER | _UPPER | _DIGIT,
    "Punct": _PUNCT,
    "Graph": _GRAPH,
    "Print": _GRAPH | {" "},
    "Blank": frozenset(" \t"),
    "Cntrl": frozenset(map(chr, (*range(32), 127))),
    "XDigit": _DIGIT | frozenset("abcdefABCDEF"),
    "Space": _SPACE,
}
_CLASSES: Final = {
    "d": _DIGIT,
    "w": _WORD,
    "s": _SPACE,
    "h": _BLANKS,
    "v": _LINE_ENDS | {"\x0b", "\f"},
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_POSIX_CLASS: Final = re.compile(r"\\([pP])\{([A-Za-z]+)\}")
_HEX: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|x\{([0-9A-Fa-f]{1,6})\})")
_COUNT: Final = re.compile(r"\{([0-9]{1,4})(?:(,)([0-9]{0,4}))?\}")
_NAME: Final = re.compile(r"\?<([A-Za-z][A-Za-z0-9]*)>")


def parse(text: str) -> Parsed:
    is_case_blind = text.startswith("(?i)")
    reading = _Parser(text, 4 if is_case_blind else 0, is_case_blind=is_case_blind)
    node = reading.alternatives(0)
    if reading.at < len(text):
        raise InvalidRequest(") has no matching (")
    return Parsed(node, reading.groups, reading.names)


def can_be_empty(node: Node) -> bool:
    if isinstance(node, OneOf):
        return False
    if isinstance(node, Sequence):
        return all(map(can_be_empty, node.parts))
    if isinstance(node, Alternatives):
        return any(map(can_be_empty, node.nodes))
    if isinstance(node, Repeat):
        return node.least == 0 or can_be_empty(node.node)
    return isinstance(node, Assertion) or can_be_empty(node.node)


def _is_at_begin(text: str, place: int) -> bool:
    return place == 0


def _is_before_last_line_end(text: str, place: int) -> bool:
    """``$``: at the end of the text, or before a line end at the end of the text."""
    rest = text[place : place + 3]
    if rest == "\n":
        return text[place - 1 : place] != "\r"
    return rest in ("", "\r\n") or (len(rest) == 1 and rest in _LINE_ENDS)


def _is_not(test: _Test, character: str) -> bool:
    return not test(character)


def _is_between(first: str, last: str, character: str) -> bool:
    return first <= character <= last


def _is_any(tests: tuple[_Test, ...], character: str) -> bool:
    return any(test(character) for test in tests)


def _is_in_either_case(test: _Test, character: str) -> bool:
    """Java's ``(?i)`` ignores the case of ASCII letters only."""
    return test(character) or (character.isascii() and test(character.swapcase()))


_NODES: Final[Mapping[str, Node]] = {
    ".": OneOf(partial(_is_not, _LINE_ENDS.__contains__)),
    "^": Assertion(_is_at_begin),
    "$": Assertion(_is_before_last_line_end),
}


class _Parser:
    def __init__(self, text: str, at: int, *, is_case_blind: bool) -> None:
        self.at = at
        self.groups = 0
        self.names: dict[str, int] = {}
        self._text = text
        self._is_case_blind = is_case_blind

    def alternatives(self, depth: int) -> Node:
        nodes = [self._sequence(depth)]
        while self._take("|"):
            nodes.append(self._sequence(depth))
        return nodes[0] if len(nodes) == 1 else Alternatives(tuple(nodes))

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.at < len(self._text) and self._text[self.at] not in "|)":
            groups = self.groups
            parts.append(self._repeated(self._atom(depth), groups))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, node: Node, groups: int) -> Node:
        """``groups`` is the number of groups before ``node``."""
        begin = self.at
        least, most = self._quantifier()
        if self.at == begin:
            return node
        if isinstance(node, Assertion):
            raise InvalidRequest("repeating ^, $, \\A or \\z is not supported here")
        if (least, most) != (0, 1) and can_be_empty(node):
            raise InvalidRequest("repeating a part that can be empty is not supported here")
        if (least, most) != (0, 1) and self.groups > groups:
            raise InvalidRequest("a group that is repeated is not supported here; write (?:…)")
        is_greedy = not self._take("?")
        if self.at < len(self._text) and self._text[self.at] in "*+?{":
            raise InvalidRequest(f"{self._text[begin : self.at + 1]} is not supported here")
        return Repeat(node, least, most, is_greedy)

    def _quantifier(self) -> tuple[int, int | None]:
        if self._take("*"):
            return 0, None
        if self._take("+"):
            return 1, None
        if self._take("?"):
            return 0, 1
        if self._text[self.at : self.at + 1] != "{":
            return 1, 1
        count = _COUNT.match(self._text, self.at)
        if count is None:
            raise InvalidRequest(
                f"{self._text[self.at : self.at + 8]} is not supported here; a repetition is {{N}},"
                " {N,} or {N,M}, with at most four digits in a number"
            )
        self.at = count.end()
        least = int(count[1])
        most = int(count[3]) if count[3] else None if count[2] else least
        if most is not None and most < least:
            raise InvalidRequest(f"{count[0]}: the bounds are in the wrong order")
        return least, most

    def _atom(self, depth: int) -> Node:
        character = self._text[self.at]
        if character == "(":
            return self._group(depth)
        if character == "[":
            return OneOf(self._set())
        if character == "\\":
            return self._escaped()
        self.at += 1
        if character in _SPECIAL:
            node = _NODES.get(character)
            if node is None:
                raise InvalidRequest(f"there is nothing before {character} to repeat")
            return node
        return OneOf(self._cased(character.__eq__))

    def _group(self, depth: int) -> Node:
        if depth == DEEPEST:
            raise InvalidRequest("its groups are nested too deeply")
        self.at += 1
        number = None
        if name := _NAME.match(self._text, self.at):
            self.at = name.end()
            number = self.groups = self.groups + 1
            if name[1] in self.names:
                raise InvalidRequest(f"two groups have the name {name[1]}")
            self.names[name[1]] = number
        elif not self._take("?:"):
            if self._text[self.at : self.at + 1] == "?":
                raise InvalidRequest(f"({self._text[self.at : self.at + 3]} is not supported here")
            number = self.groups = self.groups + 1
        node = self.alternatives(depth + 1)
        if not self._take(")"):
            raise InvalidRequest("( is not closed")
        return node if number is None else RegexGroup(number, node)

    def _escaped(self) -> Node:
        if self._take("\\A"):
            return Assertion(_is_at_begin)
        if self._take("\\z"):
            return Assertion(lambda text, place: place == len(text))
        if self._take("\\Q"):
            quoted, _, _ = self._text[self.at :].partition("\\E")
            self.at = min(self.at + len(quoted) + 2, len(self._text))
            parts = [OneOf(self._cased(character.__eq__)) for character in quoted]
            if len(parts) == 1:
                return parts[0]
            if self._text.startswith(tuple("*+?{"), self.at):  # Java repeats the last character
                raise InvalidRequest("a quantifier after \\E is not supported here")
            return Sequence(tuple(parts))
        test, character = self._class_or_character()
        return OneOf(test if character is None else self._cased(test))

    def _class_or_character(self) -> tuple[_Test, str | None]:
        r"""After a ``\``: a character class, or an escaped character."""
        text, at = self._text, self.at
        letter = text[at + 1 : at + 2]
        if posix := _POSIX_CLASS.match(text, at):
            members = _POSIX.get(posix[2])
            if members is None or (self._is_case_blind and posix[2] in ("Lower", "Upper")):
                raise InvalidRequest(f"{posix[0]} is not supported here")
            self.at = posix.end()
            return _class_test(members, is_negated=posix[1] == "P"), None
        if letter and letter.lower() in _CLASSES:
            self.at += 2
            return _class_test(_CLASSES[letter.lower()], is_negated=letter.isupper()), None
        if code := _HEX.match(text, at):
            number = int(code[1] or code[2] or code[3], 16)
            if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                raise InvalidRequest(f"{code[0]} is not supported here")
            self.at = code.end()
            return chr(number).__eq__, chr(number)
        if not letter or (letter.isascii() and letter.isalnum() and letter not in _CONTROLS):
            raise InvalidRequest(f"\\{letter} is not supported here")
        self.at += 2
        character = _CONTROLS.get(letter, letter)
        return character.__eq__, character

    def _set(self) -> _Test:
        self.at += 1
        is_negated = self._take("^")
        tests: list[_Test] = []
        while not (tests and self._take("]")):
            test, first = self._member()
            if first is not None:
                last = self._end_of_range()
                if last is not None and last < first:
                    raise InvalidRequest(f"{first}-{last}: the bounds are in the wrong order")
                test = self._cased(test if last is None else partial(_is_between, first, last))
            tests.append(test)
        test = partial(_is_any, tuple(tests))
        return partial(_is_not, test) if is_negated else test

    def _end_of_range(self) -> str | None:
        """The end of a range, or None if no ``-`` follows or the ``-`` is the set's last
        character."""
        follows = self._text[self.at : self.at + 2]
        if follows[:1] != "-" or follows == "-]":
            return None
        self.at += 1
        _, last = self._member()
        if last is None:
            raise InvalidRequest("a range that ends with a class is not supported here")
        return last

    def _member(self) -> tuple[_Test, str | None]:
        if self.at == len(self._text):
            raise InvalidRequest("[ is not closed")
        if self._text.startswith(r"\v-", self.at):  # In front of a hyphen, Java's \v is only U+000B
            raise InvalidRequest(r"\v- within [] is not supported here; write -\v")
        character = self._text[self.at]
        if character == "\\":
            return self._class_or_character()
        if character in "[]^" or self._text[self.at : self.at + 2] == "&&":
            raise InvalidRequest(
                f"{character} within [] is not supported here; write \\{character}"
            )
        self.at += 1
        return character.__eq__, character

    def _cased(self, test: _Test) -> _Test:
        return partial(_is_in_either_case, test) if self._is_case_blind else test

    def _take(self, text: str) -> bool:
        if not self._text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True


def _class_test(members: frozenset[str], *, is_negated: bool) -> _Test:
    return partial(_is_not, members.__contains__) if is_negated else members.__contains__
