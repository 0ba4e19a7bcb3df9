"""docs/reference/kafka-tests.md names our test, or a reason, for each case of Kafka's tests."""

from __future__ import annotations

import re

from tests.support.kafka.cases import REPOSITORY
from tests.support.pages.named_tests import missing_of, named_in

PAGE = (REPOSITORY / "docs" / "reference" / "kafka-tests.md").read_text()
CASES = [line.split(" | ") for line in PAGE.splitlines() if line.count(" | ") == 2]
ROWS = [row for row in CASES if row[0] != "| Kafka's cases"]


def test_each_test_that_is_named_is_there() -> None:
    assert len(named_in(PAGE)) > 100
    assert not missing_of(PAGE)


def test_each_case_has_a_test_or_a_reason_and_the_page_counts_them_right() -> None:
    counts = dict.fromkeys(("covered", "in part", "differs", "none here"), 0)
    for cases, _, ours in ROWS:
        kind = next(each for each in counts if ours.startswith(each))
        counts[kind] += len(re.findall("`", cases)) // 2
        assert kind == "none here" or named_in(ours), cases
    said = PAGE.partition("\n\n## Run")[0].rpartition("\n\n")[2]
    total, _, *kinds = map(int, re.findall(r"\d+", said))
    assert [total, *kinds] == [sum(counts.values()), *counts.values()]
