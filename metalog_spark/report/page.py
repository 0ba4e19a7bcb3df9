"""Renders a report's contents as one self-contained HTML file.

A topic can have the name ``<script>``. So Jinja2 escapes every value, and the charts' JSON cannot
close its HTML element. The content security policy allows only the page's own scripts and style.
This module must not know Spark, nor compute any number.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from metalog.errors import InvalidRequest
from metalog_spark.report.contents import (
    Access,
    Column,
    ColumnKind,
    ReportContents,
    Section,
    TimeBars,
)
from metalog_spark.report.cut import Cut, PageLimits
from metalog_spark.report.text.words import stamp

MAX_BYTES: Final = 5 * 1024 * 1024
_LIMITS: Final = (
    PageLimits(rows=1000, cells=20_000, brokers=500, name=300, lines=200),
    PageLimits(rows=300, cells=6_000, brokers=200, name=300, lines=100),
    PageLimits(rows=100, cells=2_000, brokers=100, name=300, lines=50),
    PageLimits(rows=25, cells=500, brokers=25, name=100, lines=20),
)
_HERE: Final = Path(__file__).parent
_STEPS: Final = {1: "day", 7: "week"}
_LINE_BREAK: Final = re.compile(r"(?<=[._,:/-])(?=[^._,:/-])")
_MAX_WHOLE: Final = 20
"""Shorter words, for example IPv4 addresses, stay whole."""
_COVERAGE: Final = (
    Column("Log"),
    Column("Hours fully known", ColumnKind.NUMBER),
    Column("Hours with denials only", ColumnKind.NUMBER),
    Column("Hours unknown", ColumnKind.NUMBER),
)
_ANSWERS: Final = (
    Column("From"),
    Column("Allowed", ColumnKind.NUMBER),
    Column("Denied", ColumnKind.NUMBER),
    Column("ACL changes", ColumnKind.NUMBER),
)


def page(contents: ReportContents, visible: Callable[[str], str]) -> bytes:
    """The HTML file. Long tables are cut, so that the file has at most ``MAX_BYTES``. ``visible``
    makes invisible characters of a name visible."""
    for limits in _LIMITS:
        made = _page(contents, Cut(limits, visible)).encode("utf-8", "replace")
        if len(made) <= MAX_BYTES:
            return made
    raise InvalidRequest(
        f"the report of {contents.team or contents.cluster} is longer than {MAX_BYTES:,} bytes "
        "even without all that can be left out; report a shorter window"
    )


def _page(contents: ReportContents, cut: Cut) -> str:
    access = cut.access(contents.access)
    sections = tuple(map(cut.section, contents.sections))
    window = cut.window(contents.window)
    tables = (_coverage(window), _answers(window))
    style = _asset("page.css") + "".join(map(_labels, (*tables, *sections)))
    charts, script = _asset("vendor/echarts.js"), _asset("page.js")
    data = {"window": _drawn(window, cut), "access": _matrix(access, cut)}
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "visible": cut.name,
        "breaking": lambda text: _breaking(cut.name(text)),
        "number": "{:,}".format,
        "moment": "{:%Y-%m-%d %H:%M}".format,
        "stamp": stamp,
        "lines": cut.lines,
    }
    return environment.from_string(_asset("page.html")).render(
        contents=contents,
        sections=sections,
        tables=tables,
        types=sorted({pattern[0] for pattern in access.patterns}),
        step=_STEPS.get(contents.window.step, f"{contents.window.step} days"),
        most=max((excess.granted for excess in contents.excess), default=1),
        policy=_policy(style, charts, script),
        style=Markup(style),  # noqa: S704
        charts=Markup(charts),  # noqa: S704
        script=Markup(script),  # noqa: S704
        data=htmlsafe_json_dumps(data),
        cut=cut,
    )


@cache
def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _policy(style: str, *scripts: str) -> str:
    return (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; "
        f"style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _labels(section: Section) -> str:
    """Style: on a narrow page, each cell shows the title of its column."""
    return "".join(
        f"\n@media (max-width: 40rem) {{ #{section.id} td:nth-child({number})::before "
        f'{{ content: "{column.title}"; }} }}'
        for number, column in enumerate(section.columns, 1)
    )


def _coverage(window: TimeBars) -> Section:
    rows = [(strip.name, *strip.hours) for strip in window.strips]
    return Section("coverage", "Coverage", "", _COVERAGE, rows, len(rows))


def _answers(window: TimeBars) -> Section:
    rows = [
        (f"{window.start + timedelta(number * window.step):%Y-%m-%d}", *counts)
        for number, counts in enumerate(
            zip(window.allowed, window.denied, window.changes, strict=True)
        )
    ]
    return Section("answers", "Answers", "", _ANSWERS, rows, len(rows))


def _drawn(window: TimeBars, cut: Cut) -> dict[str, Any]:
    return {
        "start": window.start.isoformat(),
        "step": window.step,
        "allowed": window.allowed,
        "denied": window.denied,
        "changes": window.changes,
        "strips": [
            {"name": cut.name(strip.name), "states": strip.states} for strip in window.strips
        ],
    }


def _matrix(access: Access, cut: Cut) -> dict[str, Any]:
    return {
        "principals": list(map(cut.name, access.principals)),
        "patterns": [[*types, cut.name(name)] for *types, name in access.patterns],
        "cells": access.cells,
    }


def _breaking(name: str) -> Markup:
    """The name with marks at which a browser may break the line. A copied name has no marks."""
    words = (
        Markup("<wbr>").join(_LINE_BREAK.split(word)) if len(word) > _MAX_WHOLE else word
        for word in name.split(" ")
    )
    return Markup(" ").join(words)
