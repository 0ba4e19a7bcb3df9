"""Parses an HTML page for tests: its elements, its texts, and its tables."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

_VOID = {"meta", "input", "path", "rect", "wbr"}


class ReadPage(HTMLParser):
    """``elements`` are tags with their attributes, ``texts`` are tags with their text. A permitted
    line break does not end a text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self._rows: dict[str, list[list[str]]] = {}
        self._open: list[str] = []
        self._within = [""]
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        if tag in _VOID:
            return
        self._open.append(tag)
        self._within.append(attributes.get("id") or self._within[-1])
        if tag == "tr":
            self._rows.setdefault(self._within[-1], []).append([])
        elif tag in ("td", "th"):
            self._rows[self._within[-1]][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self._open.pop() == tag
            self._within.pop()

    def handle_data(self, data: str) -> None:
        tag = self._open[-1] if self._open else ""
        goes_on = bool(self.elements) and self.elements[-1][0] == "wbr"
        before = self.texts.pop()[1] if goes_on else ""
        self.texts.append((tag, before + data))
        if {"td", "th"} & set(self._open) and not {"summary", "button"} & set(self._open):
            self._rows[self._within[-1]][-1][-1] += data

    def all(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]

    def attributes(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def table(self, name: str) -> list[dict[str, str]]:
        """The rows of the table with this id, by column title."""
        titles, *rows = self._rows.get(name, [[]])
        return [dict(zip(titles, row, strict=True)) for row in rows]

    @property
    def data(self) -> Any:
        return json.loads(self.all("script")[0])
