"""The table of ports in docs/ARCHITECTURE.md names each port and only methods that a port has."""

from __future__ import annotations

import re
from typing import Any

import pytest

from metalog import ports
from tests.support.kafka.cases import REPOSITORY

PAGE = (REPOSITORY / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| (.+) \|$", re.MULTILINE)
CODE = re.compile(r"`(\w+)(?:\(\w*\))?`")
PORTS: dict[str, Any] = {
    name: each
    for name, each in vars(ports).items()
    if getattr(each, "_is_protocol", False) and each.__module__ == ports.__name__
}
ROWS = [(CODE.findall(names), CODE.findall(text)) for names, text in ROW.findall(PAGE)]


def test_the_table_has_all_ports() -> None:
    assert {name for names, _ in ROWS for name in names} == PORTS.keys() - {"Split"}


@pytest.mark.parametrize(("names", "methods"), ROWS, ids=[names[0] for names, _ in ROWS])
def test_a_row_names_methods_of_its_ports(names: list[str], methods: list[str]) -> None:
    for method in methods:
        assert any(hasattr(PORTS[name], method) for name in names), method
