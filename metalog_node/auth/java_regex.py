r"""Matches Java's regular expressions in bounded time, with Java's results.

Patterns in ``ssl.principal.mapping.rules`` are written for java.util.regex. Python's ``re`` reads
some of them differently, and takes exponential time for some names. A client can choose its name.
To find one match, this module tries each instruction of a pattern at most once at each position. It
refuses syntax that it cannot match exactly as Java does, such as look-around and back references.
This module must not know certificates or rules.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog_node.auth.java_regex_syntax import (
    Alternatives,
    Assertion,
    Node,
    OneOf,
    RegexGroup,
    Repeat,
    Sequence,
    parse,
)

MOST_INSTRUCTIONS: Final = 1_000

_Captures = tuple[int, ...]
_NOWHERE: Final = -1


class TooManySteps(InvalidRequest):
    """Matching a text takes more steps than ``Steps`` has left."""

    def __init__(self) -> None:
        super().__init__("it takes too many steps to match")


class Steps:
    """How many instructions may still be tried. Several patterns can share a budget."""

    def __init__(self, left: int) -> None:
        self.left = left


class _Save(NamedTuple):
    slot: int


class _Split(NamedTuple):
    """Tries ``first`` before ``second``."""

    first: int
    second: int


class _End(NamedTuple):
    pass


_Instruction = OneOf | Assertion | _Save | _Split | _End


class Pattern:
    """A compiled pattern; ``InvalidRequest`` if ``text`` is malformed, is not supported here, or
    needs too many instructions."""

    def __init__(self, text: str) -> None:
        parsed = parse(text)
        self.groups: Final = parsed.groups
        self.names: Final = parsed.names
        self._program: list[_Instruction] = []
        self._compile(RegexGroup(0, parsed.node))
        self._program.append(_End())

    def matches(self, text: str, steps: Steps) -> bool:
        """Whether the pattern matches all of ``text``, as Java's ``Matcher.matches``."""
        return self._captures(text, 0, set(), steps, is_whole=True) is not None

    def replace_all(self, text: str, replacement: Replacement, steps: Steps) -> str:
        """Replace every match in ``text``, from left to right, as Java's ``String.replaceAll``."""
        parts, done, begin = [], 0, 0
        tried: set[int] = set()
        while begin <= len(text):
            captures = self._captures(text, begin, tried, steps, is_whole=False)
            if captures is None:
                begin += 1
                continue
            tried.clear()
            first, end = captures[:2]
            parts += [text[done:first], replacement.expand(text, captures)]
            done = begin = end
            if first == end:
                if text[end : end + 1] > "\uffff":
                    raise InvalidRequest("it matches an empty text before a character above U+FFFF")
                begin += 1
        return "".join((*parts, text[done:]))

    def _captures(  # noqa: C901 one loop: a call for each step would cost more than the step
        self, text: str, begin: int, tried: set[int], steps: Steps, *, is_whole: bool
    ) -> _Captures | None:
        """The begin and the end of each group, or None without a match.

        ``tried`` has the pairs of an instruction and a position that were tried. A second try
        would have the same result, because no instruction depends on earlier ones.
        """
        program, size, width = self._program, len(text), len(self._program)
        left = steps.left
        waiting = [(0, begin, (_NOWHERE,) * (2 * self.groups + 2))]
        while waiting:
            at, place, captures = waiting.pop()
            while (here := place * width + at) not in tried:
                tried.add(here)
                left -= 1
                if left < 0:
                    steps.left = 0
                    raise TooManySteps
                step = program[at]
                kind = step.__class__
                at += 1
                if kind is _Split:
                    at, second = step  # type: ignore[misc]
                    waiting.append((second, place, captures))
                elif kind is _Save:
                    slot = step.slot  # type: ignore[union-attr]
                    captures = (*captures[:slot], place, *captures[slot + 1 :])
                elif kind is _End:
                    if is_whole and place < size:
                        break
                    steps.left = left
                    return captures
                elif kind is OneOf:
                    if place == size or not step.holds(text[place]):  # type: ignore[union-attr,call-arg]
                        break
                    place += 1
                elif not step.holds(text, place):  # type: ignore[union-attr,call-arg]
                    break
        steps.left = left
        return None

    def _compile(self, node: Node) -> None:
        if len(self._program) > MOST_INSTRUCTIONS:
            raise InvalidRequest("it is too long, or repeats too often")
        if isinstance(node, Sequence):
            for part in node.parts:
                self._compile(part)
        elif isinstance(node, RegexGroup):
            self._program.append(_Save(2 * node.number))
            self._compile(node.node)
            self._program.append(_Save(2 * node.number + 1))
        elif isinstance(node, Alternatives):
            self._compile_alternatives(node.nodes)
        elif isinstance(node, Repeat):
            self._compile_repeat(node)
        else:
            self._program.append(node)

    def _compile_alternatives(self, nodes: tuple[Node, ...]) -> None:
        ends = []
        for node in nodes[:-1]:
            split = self._reserve()
            self._compile(node)
            ends.append(self._reserve())
            self._program[split] = _Split(split + 1, len(self._program))
        self._compile(nodes[-1])
        for end in ends:
            self._program[end] = _Split(len(self._program), len(self._program))

    def _compile_repeat(self, repeat: Repeat) -> None:
        for _ in range(repeat.least):
            self._compile(repeat.node)
        if repeat.most is None:
            split = self._reserve()
            self._compile(repeat.node)
            self._program.append(_Split(split, split))
            self._program[split] = self._choice(repeat, split)
            return
        splits = []
        for _ in range(repeat.most - repeat.least):
            splits.append(self._reserve())
            self._compile(repeat.node)
        for split in splits:
            self._program[split] = self._choice(repeat, split)

    def _choice(self, repeat: Repeat, split: int) -> _Split:
        once_more, go_on = split + 1, len(self._program)
        return _Split(once_more, go_on) if repeat.is_greedy else _Split(go_on, once_more)

    def _reserve(self) -> int:
        self._program.append(_End())
        return len(self._program) - 1


class Replacement:
    r"""A replacement in Java's syntax: ``$1``, ``${name}``, and ``\`` before a literal character.

    ``InvalidRequest`` if ``text`` is malformed, or refers to a group that ``pattern`` lacks.
    """

    def __init__(self, text: str, pattern: Pattern) -> None:
        self._parts: list[str | int] = []
        at = 0
        while at < len(text):
            if text[at] == "\\":
                if at + 1 == len(text):
                    raise InvalidRequest("it ends in \\")
                self._parts.append(text[at + 1])
                at += 2
            elif text[at] == "$":
                number, at = _reference(text, at + 1, pattern)
                self._parts.append(number)
            else:
                self._parts.append(text[at])
                at += 1

    def expand(self, text: str, captures: _Captures) -> str:
        return "".join(
            part
            if isinstance(part, str)
            else text[max(captures[2 * part], 0) : max(captures[2 * part + 1], 0)]
            for part in self._parts
        )


def _reference(text: str, at: int, pattern: Pattern) -> tuple[int, int]:
    """The group after a ``$``, and the index after the group's number or name.

    As in Java, ``$12`` means group 1 and a ``2`` if the pattern has fewer than 12 groups.
    """
    if text[at : at + 1] == "{":
        name, brace, _ = text[at + 1 :].partition("}")
        if not brace or name not in pattern.names:
            raise InvalidRequest(f"${{{name}}} is not the name of a group")
        return pattern.names[name], at + len(name) + 2
    end = at
    while text[end : end + 1] in _DIGITS and int(text[at : end + 1]) <= pattern.groups:
        end += 1
    if text[at : at + 1] not in _DIGITS:
        raise InvalidRequest("$ must be followed by a group's number or {name}; or write \\$")
    if end == at:
        raise InvalidRequest(
            f"${text[at : at + 1]}: the pattern has only {counted(pattern.groups, 'group')}"
        )
    return int(text[at:end]), end


_DIGITS: Final = tuple("0123456789")
