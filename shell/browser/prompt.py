"""The shell at a terminal: a prompt, completion by Tab, and the lines typed before.

The only module that knows prompt_toolkit. Nothing is read from disk or written there;
history lasts as long as the shell. This module must not know commands or the tree.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.shortcuts import CompleteStyle

from shell.browser.completion import complete
from shell.browser.session import Session


class _PathCompleter(Completer):
    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        line = document.text_before_cursor
        for candidate in complete(self._session, line):
            yield Completion(candidate.text, candidate.start - len(line), display=candidate.label)


def converse(session: Session, marker: str, **terminal: Any) -> None:
    """Prompt and obey until ``exit`` or Ctrl-D; Ctrl-C drops the line, or stops its answer.

    ``marker`` stands in the prompt after the path. ``terminal`` goes to prompt_toolkit.
    """
    prompt: PromptSession[str] = PromptSession(
        history=InMemoryHistory(),
        completer=_PathCompleter(session),
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
