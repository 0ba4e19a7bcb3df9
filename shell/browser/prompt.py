"""A shell's prompt at a terminal, with completion by Tab and a history of lines.

Only this module uses prompt_toolkit. The history is never written to a file. This module must not
know commands, nor what a shell shows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.shortcuts import CompleteStyle

from shell.browser.completion import CompletionCandidate
from shell.output.output import Output

Complete = Callable[[str], Iterable[CompletionCandidate]]
"""Returns candidates for the last word of a line."""


class Conversation(Protocol):
    """A shell session at a prompt, which shows ``place``. ``width`` is the terminal's width."""

    width: int | None
    leaving: bool

    @property
    def output(self) -> Output: ...

    @property
    def place(self) -> str: ...

    def run_line(self, line: str) -> None: ...

    def complain(self, text: str) -> None: ...


class _Completer(Completer):
    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        line = document.text_before_cursor
        for candidate in self._complete(line):
            yield Completion(candidate.text, candidate.start - len(line), display=candidate.label)


def converse(session: Conversation, complete: Complete, marker: str, **terminal: Any) -> None:
    """Prompt and run lines until ``exit`` or Ctrl-D. Ctrl-C discards a line or stops its answer.

    The prompt is ``place``, ``marker`` and ``>``. ``terminal`` are arguments for prompt_toolkit.
    """
    prompt: PromptSession[str] = PromptSession(
        history=InMemoryHistory(),
        completer=_Completer(complete),
        complete_style=CompleteStyle.READLINE_LIKE,
        complete_while_typing=False,
        enable_open_in_editor=False,
        **terminal,
    )
    while not session.leaving:
        try:
            line = prompt.prompt(f"{session.place}{marker}> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        session.width = shutil.get_terminal_size().columns
        try:
            session.run_line(line)
        except KeyboardInterrupt:
            session.complain("")
        session.output.flush()
