"""A hint in a finding is a command that a shell runs as printed."""

from __future__ import annotations

import io
import shlex
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest

from authorizer.config import AuthorizerConfig
from metalog_spark.findings.unused import ClassifiedAcls
from metalog_spark.findings.usage.usage_classes import Reason
from metalog_spark.findings.windows.request_rows import unseen_command
from metalog_spark.findings.windows.window import Window, WindowCoverage
from shell.output.output import Output
from shell.views.pipeline.findings import FindingOptions, say_missing
from tests.support.worlds.small_acls import allow

PATHS = ("prod.tables", "the tables", "it's {here}")
NO_HOURS = WindowCoverage(0, 0, 0)


def is_runnable(hint: str, path: str) -> bool:
    begin, end = hint.index("metalog pipeline"), hint.rindex(" --section unseen")
    return shlex.split(hint[begin:end]) == ["metalog", "pipeline", "report", path]


@pytest.mark.parametrize("path", PATHS)
def test_the_warning_about_broken_lines_names_the_tables(path: str) -> None:
    output = Output(io.StringIO(), io.StringIO())
    options = FindingOptions(SimpleNamespace(path=Path(path)), Window(0, 1), 0.0)
    say_missing(options, NO_HOURS._replace(broken=1), output)
    assert is_runnable(output.err.getvalue(), path)


@pytest.mark.parametrize("path", PATHS)
def test_the_advice_about_an_ambiguous_use_names_the_tables(path: str) -> None:
    command = unseen_command(SimpleNamespace(path=Path(path)))
    found = ClassifiedAcls(
        (), NO_HOURS, 0, MappingProxyType({}), (), AuthorizerConfig(), MappingProxyType({}),
        frozenset(), command,
    )  # fmt: skip
    verdict = SimpleNamespace(acl=allow("logs"), reason=Reason.AMBIGUOUS)
    _, advice = found.advice(verdict)
    assert advice is not None
    assert is_runnable(advice, path)
