"""Reports for CI servers: GitHub's annotations and JUnit's XML.

GitHub's annotations are workflow commands (``::error file=…,line=…::message``). The XML has only
those elements of Ant's JUnit task that all common readers support. This module must not know what
is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from metalog.text.visible_text import safe
from shell.output.output import Output

_NOT_XML: Final = re.compile("[\ufffe\uffff]")


class Case(NamedTuple):
    """A test case. ``skipped`` says why the case did not run; None if the case ran. A case that
    ran without ``failures`` passed."""

    name: str
    failures: Sequence[str] = ()
    skipped: str | None = None


def annotation(
    level: str, title: str, message: str, file: str = "", line: int = 0, column: int = 0
) -> str:
    """A workflow command of GitHub; ``level`` is ``notice``, ``warning`` or ``error``."""
    properties = {
        "file": file,
        "line": str(line) if line else "",
        "col": str(column) if column else "",
        "title": title,
    }
    listed = ",".join(f"{key}={_property(text)}" for key, text in properties.items() if text)
    return f"::{level} {listed}::{_data(message)}"


def print_junit(suite: str, cases: Sequence[Case], output: Output) -> None:
    failed = sum(bool(case.failures) for case in cases)
    skipped = sum(case.skipped is not None for case in cases)
    counts = f'tests="{len(cases)}" failures="{failed}" skipped="{skipped}"'
    output.line('<?xml version="1.0" encoding="UTF-8"?>')
    output.line(f"<testsuites {counts}>")
    output.line(f"  <testsuite name={_attribute(suite)} {counts}>")
    if output.missing:
        output.line("    <properties>")
        for each in output.missing:
            output.line(f'      <property name="missing" value={_attribute(each)}/>')
        output.line("    </properties>")
    for case in cases:
        for line in _case_lines(suite, case):
            output.line(line)
    output.line("  </testsuite>")
    output.line("</testsuites>")


def _case_lines(suite: str, case: Case) -> Iterable[str]:
    start = f"    <testcase classname={_attribute(suite)} name={_attribute(case.name)}"
    if case.skipped is not None:
        yield f"{start}><skipped message={_attribute(case.skipped)}/></testcase>"
    elif not case.failures:
        yield f"{start}/>"
    else:
        count = len(case.failures)
        first = case.failures[0] if count == 1 else f"{case.failures[0]} and {count - 1:,} more"
        yield f"{start}>"
        yield f"      <failure message={_attribute(first)}>"
        yield from (escape(_xml(failure)) for failure in case.failures)
        yield "      </failure>"
        yield "    </testcase>"


def _xml(text: str) -> str:
    """XML 1.0 forbids U+FFFE, U+FFFF and control characters, which ``safe`` escapes."""
    return _NOT_XML.sub(lambda match: f"\\u{ord(match.group()):04x}", safe(text))


def _attribute(text: str) -> str:
    return quoteattr(_xml(text))


def _data(text: str) -> str:
    return safe(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
