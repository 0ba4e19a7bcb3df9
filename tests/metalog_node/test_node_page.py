"""The page about a node's APIs has the current table."""

from __future__ import annotations

from metalog_node.net.connection import BEFORE_LOGIN_BYTES
from tests.support.kafka.cases import REPOSITORY
from tests.support.pages.api_table import apis_table

PAGE = (REPOSITORY / "docs" / "formats" / "node.md").read_text(encoding="utf-8")


def test_the_page_has_the_table_and_the_bound() -> None:
    assert apis_table() in PAGE
    assert f"| {BEFORE_LOGIN_BYTES} bytes; after it" in PAGE
