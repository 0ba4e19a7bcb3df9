from __future__ import annotations

from tests.support.kafka.cases import REPOSITORY
from tests.support.pages.permission_tables import kip_11_table, todays_table

PAGE = (REPOSITORY / "docs" / "guide" / "permissions.md").read_text(encoding="utf-8")


def test_the_page_has_both_tables() -> None:
    assert kip_11_table() in PAGE
    assert todays_table() in PAGE
