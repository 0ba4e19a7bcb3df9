"""The forms of a broker's lines, and which lines are halves, in whatever order they arrive."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any

from metalog_spark.ingest.lines.audit_lines import CUT
from metalog_spark.ingest.lines.line_forms import HALF, as_read, divided, earliest, forms_in
from metalog_spark.ingest.requests import possible_of, rejected_of, requests_of
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.tables import REQUESTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BARE, REQUEST, RULE = (None, None), ("Fetch", None), ("Fetch", "DefaultDeny")
# of a broker: at which second a line of which name ends how, and whether it is a half line
LINES = [
    ("old", 1, "a", BARE, False),
    ("old", 2, "b", BARE, False),
    ("new", 1, "a", RULE, False),
    ("new", 5, "LIT", BARE, True),
    ("new", 6, "ord", BARE, True),
    ("new", 7, "orders", REQUEST, True),
    ("upgraded", 1, "a", BARE, False),
    ("upgraded", 2, "b", REQUEST, False),
    ("upgraded", 3, "c", BARE, True),
    ("upgraded", 4, "d", RULE, False),
    ("upgraded", 5, "e", REQUEST, True),
]


def row(broker: str, second: int, name: str, end: tuple[str | None, str | None]) -> tuple[Any, ...]:
    time = datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)
    asked = ("User:a", "10.0.0.1", "READ", "TOPIC", name, "LITERAL")
    request, rule = end
    more = (request, request and 1, "ALLOWED", rule, False, f"{broker}.log", second)
    return (time, broker, *asked, *more, time.date())


def test_half_lines_are_those_without_an_end_that_was_shown_by_then(spark: SparkSession) -> None:
    lines = [*LINES]
    Random(3).shuffle(lines)
    read = as_read(frame_of(spark, [row(*each[:4]) for each in lines], REQUESTS.schema))
    parts = [read.where("second(time) % 2 = 0"), read.where("second(time) % 2 = 1")]
    forms, lacks_rules = forms_in(read)
    assert lacks_rules
    assert {**earliest(*(forms_in(part)[0] for part in parts))} == {
        name: list(pair) for name, pair in forms.items()
    }
    found = divided(read, forms).persist()
    of = {(broker, second) for broker, second, _, _, is_half in LINES if is_half}
    rejected = rejected_of(found).collect()
    assert {(each.file.removesuffix(".log"), each.line) for each in rejected} == of
    assert {each.reason for each in rejected} == {HALF}
    assert all(each.text.startswith("Principal = User:a is Allowed") for each in rejected)
    kept = requests_of(found).collect()
    assert {(each.broker, each.line) for each in kept} == {each[:2] for each in LINES} - of
    may = possible_of(found).collect()
    assert {(each.resource_name, each.pattern_type) for each in may} == {
        ("", "PREFIXED"), ("ord", "PREFIXED"), ("c", "PREFIXED"),
        ("orders", "LITERAL"), ("e", "LITERAL"),
    }  # fmt: skip
    assert divided(read, {}).where("reason IS NOT NULL OR possible").isEmpty()


def test_a_cut_line_that_has_its_rule_is_not_ambiguous(spark: SparkSession) -> None:
    """As the last line of a packed file."""
    lines = [row("b", 1, "a", BARE), row("b", 2, "b", RULE), row("b", 3, "c", RULE)]
    broken = [("b.log", 1, CUT), ("b.log", 2, None), ("b.log", 3, CUT)]
    marks = frame_of(spark, broken, "file STRING, line BIGINT, why STRING")
    found = divided(as_read(frame_of(spark, lines, REQUESTS.schema)), {}, marks)
    kept = requests_of(found).select("line", "ambiguous").collect()
    assert sorted(map(tuple, kept)) == [(2, True), (3, False)]
    assert [each.reason for each in rejected_of(found).collect()] == [CUT]
