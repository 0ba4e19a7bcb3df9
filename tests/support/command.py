"""Runs things as a person would: the ``metalog`` command, or Python itself, in a new process.

This module must not know what the command prints.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from cases import REPOSITORY

QUIET_ENVIRONMENT = {"NO_COLOR": "1", "COLUMNS": "100"}


def run_metalog(
    *arguments: str | Path,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 60.0,
) -> subprocess.CompletedProcess[str]:
    """``metalog ARGUMENTS`` in the repository's folder, its output captured as text."""
    return run_python(
        "-m",
        "shell.main",
        *arguments,
        stdin=stdin,
        environment=environment,
        timeout_s=timeout_s,
    )


def run_python(
    *arguments: str | Path,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 60.0,
) -> subprocess.CompletedProcess[str]:
    """This very Python with warnings as errors, ``environment`` added to our own."""
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
