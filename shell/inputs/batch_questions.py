"""Reads many questions from a file: audit lines, grouped and counted, or requests as JSON lines.

A line that is not a question is reported on stderr; the other lines are still answered. This
module must not know how questions are answered.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from shell.arguments.question import read_audit_line, read_request, text_of
from shell.output.output import Output
from shell.tasks.questions import ParsedQuestion, QuestionGroup

_MOST_NAMED: Final = 20
_LINES_PER_UPDATE: Final = 1000


class BatchQuestions:
    """The questions of a file. ``bad`` counts invalid lines."""

    def __init__(self, arguments: Namespace) -> None:
        if arguments.audit is not None and arguments.requests is not None:
            raise InvalidRequest("give --audit or --requests, not both")
        if arguments.question:
            raise InvalidRequest("give a question or a file of questions, not both")
        self.is_audit = arguments.audit is not None
        self._name: str = arguments.audit if self.is_audit else arguments.requests
        self.bad = 0

    def groups(self, output: Output) -> Iterable[QuestionGroup]:
        """For ``--audit``: lines grouped by question and result, the largest group first.

        For ``--requests``: a group for each line, before the next line is read.
        """
        if not self.is_audit:
            return (QuestionGroup(parsed, 1, number) for number, parsed in self._parsed(output))
        grouped: dict[tuple[Any, ...], QuestionGroup] = {}
        for number, parsed in self._parsed(output):
            audit = parsed.audit
            key = (parsed.question, audit and audit.result)
            group = grouped.get(key, QuestionGroup(parsed, 0, number))
            grouped[key] = group._replace(times=group.times + 1)
        return sorted(grouped.values(), key=lambda group: (-group.times, group.line))

    def _parsed(self, output: Output) -> Iterator[tuple[int, ParsedQuestion]]:
        read = read_audit_line if self.is_audit else read_json_line
        lines_read = 0
        with _opened(self._name) as lines, output.busy(f"reading {self._name}") as progress:
            for number, line in enumerate(lines, 1):
                if number % _LINES_PER_UPDATE == 0:
                    progress.doing = f"reading {self._name}: {counted(number, 'line')}"
                if not line.strip():
                    continue
                lines_read += 1
                try:
                    yield number, read(text_of(line).removesuffix("\n"))
                except InvalidRequest as error:
                    self._report(number, error, output)
        if not lines_read:
            output.note(f"{self._name} has no lines, so there is no question")
        if self.bad > _MOST_NAMED:
            more = counted(self.bad - _MOST_NAMED, "more line")
            output.error(f"{self._name}: {more} cannot be read as questions")

    def _report(self, number: int, error: InvalidRequest, output: Output) -> None:
        self.bad += 1
        if self.bad <= _MOST_NAMED:
            name = "stdin" if self._name == "-" else self._name
            output.error(f"{name}, line {number}: {error}")


def asks_many(arguments: Namespace) -> bool:
    return arguments.audit is not None or arguments.requests is not None


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        yield sys.stdin.buffer
        return
    with Path(name).open("rb") as file:
        yield file


def read_json_line(text: str) -> ParsedQuestion:
    """The question in one line; ``InvalidRequest`` if there is none."""
    from json import JSONDecodeError, loads

    try:
        request = loads(text, object_pairs_hook=_without_repeats)
    except JSONDecodeError as error:
        raise InvalidRequest(f"this is not JSON: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        is_deep = isinstance(error, RecursionError)
        why = "nested too deeply" if is_deep else "a number has too many digits"
        raise InvalidRequest(f"this is not JSON: {why}") from None
    if not isinstance(request, dict):
        raise InvalidRequest("this is not a JSON object")
    return read_request(request)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a repeated key, because a request with two hosts would be two questions."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidRequest("a key is repeated")
    return found
