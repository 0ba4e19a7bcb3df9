"""The page about a node's APIs has the current table."""

from __future__ import annotations

import re

from metalog_node.apis import apis_of
from metalog_node.handlers.request import SMALL_REQUESTS
from metalog_node.net.connection import BEFORE_LOGIN_BYTES
from tests.support.kafka.cases import REPOSITORY
from tests.support.pages.api_table import apis_table

PAGE = (REPOSITORY / "docs" / "formats" / "node.md").read_text(encoding="utf-8")


def test_the_page_has_the_table_and_the_bound() -> None:
    assert apis_table() in PAGE
    assert f"| {BEFORE_LOGIN_BYTES} bytes; after it" in PAGE


def test_the_page_names_the_apis_with_small_requests() -> None:
    offered = {**apis_of(is_for_controllers=False), **apis_of(is_for_controllers=True)}
    bounds = SMALL_REQUESTS.items()
    small = {api.name for api in offered.values() if bounds <= api._asdict().items()}
    [named] = re.findall(r"single-subject APIs \(([\w, ]+)\)", PAGE)
    assert set(named.split(", ")) == small
