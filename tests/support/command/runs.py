"""Runs the ``metalog`` command or Python in a new process, or, if the process does not matter, the
command in this one.

This module must not know what the command prints.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Protocol

import pytest

from shell.main import main
from tests.support.kafka.cases import REPOSITORY

QUIET_ENVIRONMENT = {"NO_COLOR": "1", "COLUMNS": "100"}
AS_USERS_START_IT = {
    "PYTHONPATH": str(REPOSITORY / "tests" / "support" / "suite" / "without_hypothesis")
}
"""The default environment of processes that tests start. It hides packages that only tests have
installed."""


def run_metalog(
    *arguments: str | Path,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 300.0,
) -> subprocess.CompletedProcess[str]:
    """Run ``metalog ARGUMENTS`` in the repository's folder, and capture its output as text."""
    return run_python(
        "-m", "shell.main", *arguments, stdin=stdin, environment=environment, timeout_s=timeout_s
    )


class Run(Protocol):
    """Runs ``metalog ARGUMENTS`` in one of these ways."""

    def __call__(
        self, *arguments: str | Path, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]: ...


def run_here(
    capsys: pytest.CaptureFixture[str], *arguments: str | Path, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Like ``run_metalog``, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(REPOSITORY)
        return run_words(capsys, list(map(str, arguments)), stdin=stdin)


def run_words(
    capsys: pytest.CaptureFixture[str], words: list[str], stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """The same in the current folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", TextIOWrapper(BytesIO(stdin.encode())))
        for name, value in QUIET_ENVIRONMENT.items():
            patch.setenv(name, value)
        try:
            code = main(words)
        except SystemExit as left:
            code = int(left.code or 0)
    out, err = capsys.readouterr()
    return subprocess.CompletedProcess(words, code, out, err)


@contextmanager
def interrupted_at(function: str) -> Iterator[None]:
    """A block in which Ctrl-C comes when the function of that name is called."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(function, interrupted)
        yield


def run_python(
    *arguments: str | Path,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 300.0,
) -> subprocess.CompletedProcess[str]:
    """Run this Python with warnings as errors, and ``environment`` added to the variables."""
    return subprocess.run(
        [sys.executable, "-W", "error", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **QUIET_ENVIRONMENT, **(environment or {})},
        cwd=REPOSITORY,
        timeout=timeout_s,
        check=False,
    )
